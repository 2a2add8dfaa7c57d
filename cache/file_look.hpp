// What is at the path of a cache file? Private to cache/. Functions without state.
#pragma once

#include <string>

#include "cache/sqlite.hpp"

namespace qrow {

enum class Journal { wal, rollback };

enum class FileState {
  good,
  absent,  // or empty
  damaged,
  other_journal,  // sound, but in the other journal mode
  wal_fails,      // this file system cannot do what a write-ahead log needs
  read_only,
  foreign,  // a database of another program or of another format: not ours to touch
  refused,  // trouble that is not the file's
};

struct Look {
  FileState state = FileState::refused;
  sqlite::Database database;  // where good
  std::string why;            // where not: one sentence naming the file
};

// Opens the file for writing in the journal mode `wanted` if it is sound. Changes nothing.
Look look_at(const std::string& file, Journal wanted, const std::string& vfs);

// What the header alone decides: good (go on), absent, damaged or foreign.
Look look_at_header(const sqlite::Header& header, const std::string& file);

// The state that a failure of an open or of the first read tells of.
Look explain(const sqlite::Failure& failure, const std::string& file);

// Sets up a connection that only reads, and reads a little: what is wrong shows here and not at the
// first lookup. Throws sqlite::Failure.
void set_up_reader(sqlite::Database& database);

}  // namespace qrow
