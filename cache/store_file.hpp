// Opens a cache file: looks at its state and creates, converts or sets aside what must be. Private
// to cache/.
//
// A new file is made beside its path and renamed into place, so nobody ever sees half of one.
// Everything that changes a file as a whole happens under one lock file; an open of a sound file
// takes no lock. Functions without state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"

namespace qrow {

// Persisted: the version of the tables in schema.sql, and part of the file name where the name is
// ours to choose.
inline constexpr int kCacheFormat = 1;
inline constexpr std::int64_t kApplicationId = 0x71726f77;  // "qrow"
extern const char* const kSchemaSql;                        // schema.sql

// Messages for the log, kept until no lock is held: a sink may be anything, even something that
// waits for us.
using Notes = std::vector<std::pair<LogLevel, std::string>>;

struct OpenFile {
  sqlite::Database database;  // none: `trouble` says why
  bool writable = false;
  std::string trouble;  // why it cannot be used, or only be read
};

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};
std::optional<FileId> file_id(const std::string& path);

// Absolute, with the links in the folder resolved (sqlite is told to follow none) and, for a file
// that is only read, also a link at the end. What does not exist stays as it is.
std::string real_cache_file(const std::string& path, bool follow_last);

// Opens the file at the real path `file` as `options` ask. One that cannot be written is opened for
// reading. `damaged` names a file that sqlite found broken while using it: it is set aside if it is
// still the one at `file`.
OpenFile open_cache_file(const StoreOptions& options, const std::string& file,
                         std::optional<FileId> damaged, Notes& notes);

}  // namespace qrow
