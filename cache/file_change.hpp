// Changes of a cache file as a whole: create, convert, set aside. Private to cache/. Functions
// without state. REQUIRES throughout: the lock of the file is held (cache/store_file.cpp).
#pragma once

#include <sys/types.h>

#include <string>

#include "cache/sqlite.hpp"

namespace qrow {

// Makes a new database with empty tables, in rollback mode. `path` must not exist. Throws
// sqlite::Failure.
sqlite::Database create_database(const std::string& path, mode_t mode, const std::string& vfs);

// Puts a new, empty cache at `file`, where there is no file or an empty one. False if it has a
// rollback journal although a write-ahead log was asked for (`*why`). Throws sqlite::Failure.
bool create_cache_file(const std::string& file, bool wal, const std::string& vfs, std::string* why);

// Changes the journal mode of a sound file. False if it cannot have a write-ahead log. Throws
// sqlite::Failure.
bool convert_journal(const std::string& file, bool wal, const std::string& vfs, std::string* why);

// Renames a broken file with its journals and returns the new name; "" if it could not be renamed.
std::string set_aside(const std::string& file);

// The folder of lock files beside `file`, only ours to write. False with `*reason`. (Needs no
// lock.)
bool make_lock_folder(const std::string& file, std::string* reason);

}  // namespace qrow
