#include "cache/file_change.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "cache/cache_path.hpp"
#include "cache/store_file.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

using sqlite::Access;
using sqlite::Database;

// Broken files kept for inspection; the last name is used again.
constexpr int kMaxSetAside = 8;

std::string reason_of(int error) { return std::generic_category().message(error); }

void remove_side_files(const std::string& file) {
  for (const char* side : {"-wal", "-shm", "-journal"}) ::unlink((file + side).c_str());
}

// False with `*why` where the file system (or the VFS) cannot do it.
bool turn_to_wal(Database& database, std::string* why) {
  try {
    sqlite::Cursor cursor = database.query("PRAGMA journal_mode = WAL");
    if (cursor.step() && cursor.text(0) == "wal") return true;
    *why = "the file system does not support it";
  } catch (const sqlite::Failure& failure) {
    *why = failure.what();
  }
  return false;
}

}  // namespace

Database create_database(const std::string& path, mode_t mode, const std::string& vfs) {
  // Not left to sqlite, which would ask the umask: what it makes beside the file later takes the
  // mode from the file.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 || ::fchmod(fd, mode) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    const bool denied = error == EROFS || error == EACCES;
    throw sqlite::Failure(denied            ? SQLITE_READONLY
                          : error == ENOSPC ? SQLITE_FULL
                                            : SQLITE_CANTOPEN,
                          fmt::format("cannot create '{}': {}", path, reason_of(error)));
  }
  ::close(fd);
  Database database = Database::open(path, Access::read_write, vfs);
  // Both are decided by the first table. Without auto_vacuum a file never shrinks.
  database.exec("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;");
  sqlite::Transaction transaction(database);
  database.exec(kSchemaSql);
  transaction.commit();
  return database;
}

bool create_cache_file(const std::string& file, bool wal, const std::string& vfs,
                       std::string* why) {
  const std::string fresh = file + ".new";
  ::unlink(fresh.c_str());  // of a process that died here
  remove_side_files(fresh);
  bool done = true;
  {
    Database database = create_database(fresh, 0600, vfs);
    if (wal) done = turn_to_wal(database, why);
  }
  // Logs left by a file that is gone would be replayed into the new one.
  remove_side_files(file);
  if (::rename(fresh.c_str(), file.c_str()) != 0) {
    throw sqlite::Failure(SQLITE_CANTOPEN, fmt::format("cannot rename '{}' to '{}': {}", fresh,
                                                       file, reason_of(errno)));
  }
  return done;
}

bool convert_journal(const std::string& file, bool wal, const std::string& vfs, std::string* why) {
  Database database = Database::open(file, Access::read_write, vfs);
  if (wal) return turn_to_wal(database, why);
  // Exclusive locking reads a write-ahead log without shared memory.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;");
  return true;
}

std::string set_aside(const std::string& file) {
  std::string aside;
  for (int i = 1; i <= kMaxSetAside; ++i) {
    aside = fmt::format("{}.damaged-{}", file, i);
    if (!file_exists(aside)) break;
  }
  if (::rename(file.c_str(), aside.c_str()) != 0) return {};
  for (const char* side : {"-wal", "-journal"})
    ::rename((file + side).c_str(), (aside + side).c_str());
  ::unlink((file + "-shm").c_str());  // of no use without its file, and of harm to the next one
  return aside;
}

bool make_lock_folder(const std::string& file, std::string* reason) {
  const std::string folder = lock_folder_of(file);
  if (::mkdir(folder.c_str(), 0700) == 0) {
    ::chmod(folder.c_str(), 0700);  // whatever the umask took away
    return true;
  }
  struct stat info {};
  if (errno != EEXIST || ::lstat(folder.c_str(), &info) != 0) {
    *reason = fmt::format("cannot create the folder '{}': {}", folder, reason_of(errno));
    return false;
  }
  const bool ours = S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
                    (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours)
    *reason = fmt::format("'{}' is not a folder that only you can write: remove it", folder);
  return ours;
}

}  // namespace qrow
