// The size limit: what fits, and which rows go. Private to cache/. Functions without state; they
// throw sqlite::Failure and expect an open transaction.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"

namespace qrow {

struct Room {
  bool made = true;
  int evicted = 0;
  std::string why_not;
};

// Makes room for `row` within `limit` bytes of file (0: no limit). Rows that are not pinned are
// evicted, the least recently used first, but never for a pinned one: prewarming must not undo what
// calls have made, it fails and says so.
Room make_room(sqlite::Database& database, const KernelRow& row, std::int64_t limit);

// Cuts free pages off the end of the file...
void release_free_pages(sqlite::Database& database);
// ... which, with a write-ahead log, shrinks once the log has been copied into it. Outside
// transactions, as far as readers allow.
void shrink_file(sqlite::Database& database);

// Notes uses of keys, the earliest first. Only rows that may be evicted are noted.
void note_uses(sqlite::Database& database, std::span<const Digest> keys);

}  // namespace qrow
