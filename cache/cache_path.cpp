#include "cache/cache_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "cache/sqlite.hpp"
#include "cache/store_file.hpp"
#include "runtime/base/env.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

// What sqlite keeps beside a database and would follow blindly.
constexpr std::string_view kSideFiles[] = {"-wal", "-shm", "-journal"};

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

// root can do anything to us anyway, and a cache made by root in a container image serves its
// users.
bool foreign_owner(const struct stat& info) {
  return info.st_uid != ::geteuid() && info.st_uid != 0;
}

bool writable_by_others(const struct stat& info) {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Support trust_folder(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return Support::yes();
  if (foreign_owner(info)) {
    return Support::no(
        "the folder '{}' belongs to user {}, not to you (user {}): choose a folder of yours",
        folder, info.st_uid, ::geteuid());
  }
  const bool sticky = (info.st_mode & S_ISVTX) != 0;
  if (writable_by_others(info) && !sticky) {
    return Support::no(
        "the folder '{}' may be written by others (mode {:04o}): run `chmod go-w '{}'` or choose "
        "another",
        folder, info.st_mode & 07777, folder);
  }
  return Support::yes();
}

Support trust_file(const std::string& file) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0) return Support::yes();
  if (S_ISLNK(info.st_mode)) {
    return Support::no("'{}' is a symbolic link: name the file itself, or its folder", file);
  }
  if (!S_ISREG(info.st_mode)) return Support::no("'{}' is not a regular file", file);
  if (foreign_owner(info)) {
    return Support::no("'{}' belongs to user {}, not to you (user {}): choose another path", file,
                       info.st_uid, ::geteuid());
  }
  if (writable_by_others(info)) {
    return Support::no(
        "'{}' may be written by others (mode {:04o}): run `chmod go-w '{}'` if its content is "
        "yours",
        file, info.st_mode & 07777, file);
  }
  return Support::yes();
}

}  // namespace

std::string resolve_cache_path(const std::string& given) {
  std::string path = given;
  if (path.empty()) path = env("QROW_CACHE").value_or("");
  if (path.empty()) {
    const auto folder = user_cache_folder();
    if (!folder) return {};
    path = *folder + "/";
  }
  if (path.back() != '/' && !is_folder(path)) return path;
  if (path.back() != '/') path += '/';
  return fmt::format("{}qrow-{}.sqlite", path, kCacheFormat);
}

std::string lock_folder_of(const std::string& file) { return file + ".locks"; }

Support trust_own_file(const std::string& file) {
  if (Support folder = trust_folder(folder_of(file)); !folder) return folder;
  if (Support own = trust_file(file); !own) return own;
  for (const std::string_view side : kSideFiles) {
    if (Support support = trust_file(file + std::string(side)); !support) return support;
  }
  return Support::yes();
}

Support trust_seed_file(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return Support::yes();
  if (!S_ISREG(info.st_mode)) return Support::no("'{}' is not a regular file", file);
  if ((info.st_mode & S_IWOTH) != 0) {
    return Support::no(
        "'{}' may be written by every user (mode {:04o}): run `chmod o-w '{}'` if its content is "
        "yours",
        file, info.st_mode & 07777, file);
  }
  return Support::yes();
}

Support begins_like_cache(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return Support::yes();
  if (!S_ISREG(info.st_mode)) return Support::no("'{}' is not a regular file", file);
  try {
    sqlite::Database database =
        sqlite::Database::open(real_cache_file(file, true), sqlite::Access::immutable, "");
    const sqlite::Header header = database.header();
    if (header.file_bytes == 0 || header.is_sqlite) return Support::yes();
  } catch (const sqlite::Failure&) {
    return Support::yes();  // opening it tells why
  }
  return Support::no("'{}' is no qrow cache: it does not begin like one", file);
}

}  // namespace qrow
