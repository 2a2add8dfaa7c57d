#include "cache/space.hpp"

#include <fmt/format.h>

#include <vector>

#include "cache/kernel_rows.hpp"

namespace qrow {
namespace {

// A row without a noted use counts as oldest; equal ones go in the order in which they came.
constexpr auto kVictims =
    "SELECT kernel.rowid FROM kernel LEFT JOIN last_use ON last_use.key = kernel.key "
    "WHERE pinned = 0 ORDER BY ifnull(last_use.tick, 0), kernel.rowid";
constexpr auto kForgetUses =
    "DELETE FROM last_use WHERE key NOT IN (SELECT key FROM kernel WHERE pinned = 0)";
constexpr auto kNoteUse =
    "INSERT OR REPLACE INTO last_use (key, tick) "
    "SELECT ?1, 1 + ifnull((SELECT max(tick) FROM last_use), 0) "
    "WHERE EXISTS (SELECT 1 FROM kernel WHERE key = ?1 AND pinned = 0)";
constexpr auto kPinnedBytes = "SELECT total(cubin_bytes) FROM kernel WHERE pinned = 1";

// Evicting a little more than needed spares the next rows the search for victims.
constexpr std::int64_t kSlackDivisor = 64;

std::int64_t page_size(sqlite::Database& database) { return database.number("PRAGMA page_size"); }

std::int64_t used_bytes(sqlite::Database& database) {
  return (database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")) *
         page_size(database);
}

// An upper bound: the row on overflow pages of its own, its share of the trees, and the pages that
// map pages.
std::int64_t bytes_for(sqlite::Database& database, const KernelRow& row) {
  constexpr std::int64_t kNumbers = 256;
  constexpr std::int64_t kTreePages = 4;
  const auto payload =
      static_cast<std::int64_t>(row.cubin.size() + row.key_text.size() + row.options.size() +
                                row.case_line.size() + row.family.size() + row.entry_name.size()) +
      kNumbers;
  const std::int64_t page = page_size(database);
  return (payload / (page - 64) + 1 + kTreePages) * page;
}

std::vector<std::int64_t> victims(sqlite::Database& database) {
  std::vector<std::int64_t> rowids;
  sqlite::Cursor cursor = database.query(kVictims);
  while (cursor.step()) rowids.push_back(cursor.integer(0));
  return rowids;
}

}  // namespace

Room make_room(sqlite::Database& database, const KernelRow& row, std::int64_t limit) {
  Room room;
  const std::int64_t needed = bytes_for(database, row);
  if (limit <= 0 || used_bytes(database) + needed <= limit) return room;
  if (!row.pinned) {
    for (const std::int64_t victim : victims(database)) {
      if (used_bytes(database) + needed <= limit - limit / kSlackDivisor) break;
      delete_kernel(database, victim);
      ++room.evicted;
    }
    database.query(kForgetUses).run();
    if (used_bytes(database) + needed <= limit) return room;
  }
  room.made = false;
  room.why_not = fmt::format(
      "a kernel of {} bytes does not fit: the cache holds {} bytes of its limit of {} ({} bytes of "
      "cubins are prewarmed or "
      "imported and never evicted); raise the limit, clear the cache or use another file",
      row.cubin.size(), used_bytes(database), limit, database.number(kPinnedBytes));
  return room;
}

void release_free_pages(sqlite::Database& database) {
  // One step frees one page; only a run to the end frees them all.
  database.query("PRAGMA incremental_vacuum").run();
}

void shrink_file(sqlite::Database& database) {
  database.query("PRAGMA wal_checkpoint(PASSIVE)").run();
}

void note_uses(sqlite::Database& database, std::span<const Digest> keys) {
  for (const Digest& key : keys) database.query(kNoteUse).bind(key).run();
}

}  // namespace qrow
