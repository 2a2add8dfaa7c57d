#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "cache/export.hpp"
#include "cache/kernel_rows.hpp"
#include "cache/space.hpp"
#include "cache/store_access.hpp"
#include "cache/tuning_rows.hpp"

namespace qrow {
namespace {

constexpr auto kIntegrity = "PRAGMA integrity_check(1)";
constexpr const char* kClear[] = {"DELETE FROM kernel", "DELETE FROM tuning",
                                  "DELETE FROM last_use"};

struct BadRows {
  std::vector<std::int64_t> kernels, tunings;
};

// Throws sqlite::Failure unless the structure of the file is sound.
void check_structure(sqlite::Database& database) {
  sqlite::Cursor cursor = database.query(kIntegrity);
  if (cursor.step() && cursor.text(0) != "ok")
    throw sqlite::Failure(SQLITE_CORRUPT, std::string(cursor.text(0)));
}

std::string damage_of(const StoredKernel& stored) {
  if (!stored.damage.empty() || digest_of(stored.row.key_text) == stored.row.key)
    return stored.damage;
  return fmt::format("kernel {}: its text has another digest", stored.row.key.hex());
}

BadRows check_rows(sqlite::Database& database, CacheReport& report) {
  BadRows bad;
  for (const KernelEntry& entry : kernel_entries(database)) {
    const auto stored = kernel_of_rowid(database, entry.rowid);
    if (!stored) continue;  // evicted meanwhile
    ++report.kernels;
    report.bytes += static_cast<std::int64_t>(stored->row.cubin.size());
    const std::string damage = damage_of(*stored);
    if (damage.empty()) continue;
    bad.kernels.push_back(entry.rowid);
    report.notes.push_back(damage);
  }
  for (const StoredTuning& stored : all_tunings(database)) {
    ++report.tunings;
    if (stored.damage.empty()) continue;
    bad.tunings.push_back(stored.rowid);
    report.notes.push_back(stored.damage);
  }
  report.bad += static_cast<int>(bad.kernels.size() + bad.tunings.size());
  return bad;
}

void delete_rows(sqlite::Database& database, const BadRows& bad) {
  sqlite::Transaction transaction(database);
  for (const std::int64_t rowid : bad.kernels) delete_kernel(database, rowid);
  for (const std::int64_t rowid : bad.tunings) delete_tuning(database, rowid);
  transaction.commit();
}

}  // namespace

CacheReport verify_cache(KernelStore& store, bool repair) {
  const std::string path = store.path();
  CacheReport report;
  bool broken = false;
  const auto check = [&](sqlite::Database& database) {
    if (broken) return;  // this is the empty file after the broken one was set aside
    report = {};
    try {
      check_structure(database);
      const BadRows bad = check_rows(database, report);
      if (repair) delete_rows(database, bad);
    } catch (const sqlite::Failure& failure) {
      if (!failure.damaged()) throw;
      broken = true;
      ++report.bad;
      report.notes.push_back(fmt::format("'{}' is damaged: {}", path, failure.what()));
      if (repair) throw;
    }
  };
  if (repair) {
    StoreAccess::write(store, check);
  } else {
    StoreAccess::read(store, check);
  }
  return report;
}

CacheReport clear_cache(KernelStore& store) {
  CacheReport report;
  StoreAccess::write(store, [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    StoreCounts counts;
    count_rows(database, counts);
    report.kernels = static_cast<int>(counts.kernels);
    report.tunings = static_cast<int>(counts.tunings);
    report.bytes = counts.cubin_bytes;
    for (const char* sql : kClear) database.query(sql).run();
    release_free_pages(database);
    transaction.commit();
    shrink_file(database);
  });
  return report;
}

}  // namespace qrow
