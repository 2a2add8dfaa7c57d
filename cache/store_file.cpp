#include "cache/store_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "cache/cache_path.hpp"
#include "cache/file_change.hpp"
#include "cache/file_look.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

using sqlite::Access;
using sqlite::Database;

// Creation takes milliseconds; whoever holds the lock for longer is stopped or stuck.
constexpr int kOpenLockWaitMs = 10000;

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

bool writable_folder(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

bool has_bytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

// Brings the file into the state `good`, whatever it is in, if that can be done. REQUIRES: the lock
// is held.
class Repair {
 public:
  Repair(const std::string& file, Journal journal, const std::string& vfs, Notes& notes)
      : file_(file), journal_(journal), vfs_(vfs), notes_(notes) {}

  Look run() {
    // Each round mends one thing: set aside, create, convert, convert back.
    Look look;
    for (int round = 0; round < 5; ++round) {
      look = look_at(file_, journal_, vfs_);
      try {
        if (!mend(look)) break;
      } catch (const sqlite::Failure& failure) {
        return explain(failure, file_);
      }
    }
    return look;
  }

 private:
  bool wal() const { return journal_ == Journal::wal; }

  // False if there is nothing (more) to be done.
  bool mend(Look& look) {
    std::string why;
    switch (look.state) {
      case FileState::good:
      case FileState::read_only:
      case FileState::foreign:
      case FileState::refused:
        return false;
      case FileState::absent:
        if (!create_cache_file(file_, wal(), vfs_, &why)) give_up_wal(why);
        return true;
      case FileState::other_journal:
        if (!convert_journal(file_, wal(), vfs_, &why)) give_up_wal(why);
        return true;
      case FileState::wal_fails:
        give_up_wal(look.why);
        return true;
      case FileState::damaged:
        break;
    }
    const std::string aside = set_aside(file_);
    if (aside.empty()) return false;
    notes_.emplace_back(
        LogLevel::warning,
        fmt::format("cache: {}; renamed to '{}', starting with an empty cache", look.why, aside));
    return true;
  }

  void give_up_wal(const std::string& why) {
    journal_ = Journal::rollback;
    notes_.emplace_back(
        LogLevel::warning,
        fmt::format("cache '{}': no write-ahead log here ({}), using a rollback journal", file_,
                    why));
  }

  const std::string& file_;
  Journal journal_;
  const std::string& vfs_;
  Notes& notes_;
};

// A file that nobody is writing is read without locks, which works everywhere. One that may be in
// use is read with them.
OpenFile open_reader(const std::string& file, const std::string& vfs) {
  OpenFile opened;
  if (!file_exists(file)) {
    opened.trouble = fmt::format("'{}' does not exist", file);
    return opened;
  }
  try {
    Database database = Database::open(file, Access::immutable, vfs);
    Look look = look_at_header(database.header(), file);
    if (look.state != FileState::good) {
      opened.trouble = look.why;
      return opened;
    }
    const bool in_use = has_bytes(file + "-wal") || has_bytes(file + "-journal");
    if (in_use) database = Database::open(file, Access::read_only, vfs);
    set_up_reader(database);
    opened.database = std::move(database);
  } catch (const sqlite::Failure& failure) {
    opened.trouble = explain(failure, file).why;
    if (has_bytes(file + "-wal") && !failure.damaged()) {
      opened.trouble +=
          "; it is in use by a writer (there is a write-ahead log beside it): export it, and use "
          "the export";
    }
  }
  return opened;
}

// For a place where we cannot write. `why` says so.
OpenFile open_without_writing(const StoreOptions& options, const std::string& file,
                              const std::string& why, Notes& notes) {
  OpenFile opened;
  if (file_exists(file)) opened = open_reader(file, options.vfs);
  if (opened.database) {
    notes.emplace_back(LogLevel::warning, fmt::format("cache: {}; it is only read", why));
    opened.trouble = why;
  } else if (opened.trouble.empty()) {
    opened.trouble = why;
  }
  return opened;
}

Journal journal_for(const StoreOptions& options, const std::string& file, Notes& notes) {
  std::string kind = "remote";
  const bool remote =
      options.remote_file_system ? *options.remote_file_system : is_remote_file_system(file, &kind);
  if (!remote) return Journal::wal;
  notes.emplace_back(
      LogLevel::warning,
      fmt::format(
          "cache '{}' is on a file system shared by hosts ({}): using a rollback journal, which is "
          "slower than the write-ahead log of a local disk",
          file, kind));
  return Journal::rollback;
}

}  // namespace

std::optional<FileId> file_id(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::string real_cache_file(const std::string& path, bool follow_last) {
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  const auto real = [](const std::string& name) {
    const std::unique_ptr<char, Free> text(::realpath(name.c_str(), nullptr));
    return text ? std::string(text.get()) : std::string();
  };
  if (follow_last) {
    std::string file = real(path);
    return file.empty() ? path : file;
  }
  const std::string folder = real(folder_of(path));
  if (folder.empty()) return path;
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return (folder == "/" ? folder : folder + "/") + name;
}

OpenFile open_cache_file(const StoreOptions& options, const std::string& file,
                         std::optional<FileId> damaged, Notes& notes) {
  OpenFile opened;
  const Support trust = options.read_only ? trust_seed_file(file) : trust_own_file(file);
  if (!trust) {
    opened.trouble = trust.reason;
    return opened;
  }
  if (options.read_only) return open_reader(file, options.vfs);

  const std::string folder = folder_of(file);
  if (!writable_folder(folder)) {
    return open_without_writing(options, file,
                                fmt::format("the folder '{}' cannot be written", folder), notes);
  }
  const Journal journal = journal_for(options, file, notes);
  Look look;
  if (!damaged) look = look_at(file, journal, options.vfs);
  if (look.state == FileState::foreign) {  // nothing is put beside it either
    opened.trouble = look.why;
    return opened;
  }
  std::string reason;
  if (!make_lock_folder(file, &reason)) return open_without_writing(options, file, reason, notes);
  if (look.state != FileState::good) {
    const FileLock lock =
        FileLock::acquire(lock_folder_of(file) + "/open", kOpenLockWaitMs, &reason);
    if (!lock) return open_without_writing(options, file, reason, notes);
    if (damaged && file_id(file) == damaged) {
      const std::string aside = set_aside(file);
      notes.emplace_back(
          LogLevel::warning,
          fmt::format("cache: '{}' is damaged; renamed to '{}', starting with an empty cache", file,
                      aside));
    }
    look = Repair(file, journal, options.vfs, notes).run();
  }
  if (look.state == FileState::read_only)
    return open_without_writing(options, file, look.why, notes);
  opened.database = std::move(look.database);
  opened.writable = static_cast<bool>(opened.database);
  opened.trouble = look.why;
  return opened;
}

}  // namespace qrow
