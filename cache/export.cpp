#include "cache/export.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "cache/kernel_rows.hpp"
#include "cache/seed_file.hpp"
#include "cache/space.hpp"
#include "cache/store_access.hpp"
#include "cache/store_file.hpp"
#include "cache/tuning_rows.hpp"
#include "runtime/base/error.hpp"

namespace qrow {
namespace {

using KernelId = std::pair<Digest, std::string>;  // key, nvrtc_build

KernelId id_of(const KernelEntry& entry) { return {entry.key, entry.nvrtc_build}; }

// Of two rows of one id the newer is kept, then the one with the greater checksum, so that no order
// of files matters.
bool better(const KernelEntry& a, const KernelEntry& b) {
  return std::tie(a.created_unix, a.checksum) > std::tie(b.created_unix, b.checksum);
}

// What a pick is for: one record each.
using PickId = std::pair<std::string, std::array<std::int64_t, 10>>;
PickId id_of(const TuningRow& row) {
  return {row.spec,
          {row.bucket_batch, row.bucket_kv_len, row.bucket_rows, row.device_cc, row.device_sms,
           row.device_sm_khz, row.device_memory_khz, row.device_bus_bits, row.device_l2_bytes,
           row.device_mig}};
}

// The rule of merge_tuning().
bool better(const TuningRow& a, const TuningRow& b) {
  return std::make_tuple(a.samples, a.created_unix, tuning_checksum(a)) >
         std::make_tuple(b.samples, b.created_unix, tuning_checksum(b));
}

bool wanted(const KernelEntry& entry, const ExportFilter& filter) {
  return filter.kernels && (filter.arch.empty() || entry.arch == filter.arch) &&
         (filter.keys.empty() ||
          std::find(filter.keys.begin(), filter.keys.end(), entry.key) != filter.keys.end());
}

void count(const KernelRow& row, CacheReport& report) {
  ++report.kernels;
  report.bytes += static_cast<std::int64_t>(row.cubin.size());
}

void note_damage(const std::string& damage, CacheReport& report) {
  ++report.bad;
  report.notes.push_back(damage);
}

// The rows of a store as a seed. A damaged row of our own is left out: it will be made again.
CacheReport write_seed(sqlite::Database& from, const std::string& file,
                       const ExportFilter& filter) {
  CacheReport report;
  SeedWriter writer(file);
  for (const KernelEntry& entry : kernel_entries(from)) {
    if (!wanted(entry, filter)) continue;
    const auto stored = kernel_of_rowid(from, entry.rowid);
    if (!stored) continue;  // evicted meanwhile
    if (!stored->damage.empty()) {
      note_damage(stored->damage, report);
      continue;
    }
    writer.add(stored->row);
    count(stored->row, report);
  }
  if (filter.tunings) {
    for (const StoredTuning& stored : all_tunings(from)) {
      if (!stored.damage.empty()) {
        note_damage(stored.damage, report);
        continue;
      }
      writer.add(stored.row);
      ++report.tunings;
    }
  }
  writer.finish();
  return report;
}

// In an open transaction of `into`.
void import_kernel(sqlite::Database& into, KernelRow&& row, const KernelEntry& entry,
                   const KernelEntry* present, std::int64_t limit, const std::string& file) {
  if (present != nullptr && better(*present, entry)) {
    pin_kernel(into, present->rowid);
    return;
  }
  row.pinned = true;
  delete_kernel(into, row.key, row.nvrtc_build);
  const Room room = make_room(into, row, limit);
  if (!room.made)
    fail(Status::cache, "cannot import '{}': {}; nothing was imported", file, room.why_not);
  write_kernel(into, row);
}

}  // namespace

CacheReport export_cache(KernelStore& from, const std::string& file, const ExportFilter& filter) {
  if (const auto id = file_id(file); id && id == file_id(from.path())) {
    fail(Status::cache, "cannot export the cache '{}' into itself: give another path", from.path());
  }
  export_place(file);
  CacheReport report;
  StoreAccess::read(
      from, [&](sqlite::Database& database) { report = write_seed(database, file, filter); });
  return report;
}

void check_export_place(const std::string& file) { export_place(file); }

CacheReport import_cache(KernelStore& into, const std::string& file) {
  SeedReader reader(file, "import");
  const std::vector<KernelEntry> entries = reader.entries();
  const std::vector<TuningRow> tunings = reader.tunings();
  const std::int64_t limit = StoreAccess::options(into).size_limit_bytes;
  CacheReport report;
  StoreAccess::write(into, [&](sqlite::Database& database) {
    report = {};
    sqlite::Transaction transaction(database);
    std::map<KernelId, KernelEntry> present;
    for (KernelEntry& entry : kernel_entries(database)) present.emplace(id_of(entry), entry);
    for (const KernelEntry& entry : entries) {
      KernelRow row = reader.kernel(entry.rowid);
      count(row, report);
      const auto found = present.find(id_of(entry));
      import_kernel(database, std::move(row), entry,
                    found == present.end() ? nullptr : &found->second, limit, file);
    }
    for (const TuningRow& row : tunings) merge_tuning(database, row);
    report.tunings = static_cast<int>(tunings.size());
    transaction.commit();
  });
  return report;
}

CacheReport merge_caches(const std::string& out_file, const std::vector<std::string>& files) {
  if (files.empty())
    fail(Status::invalid_argument, "nothing to merge into '{}': give at least one file", out_file);
  export_place(out_file);  // before the inputs are read
  std::vector<SeedReader> readers;
  readers.reserve(files.size());
  struct Origin {
    std::size_t reader;
    KernelEntry entry;
  };
  std::map<KernelId, Origin> kernels;
  std::map<PickId, TuningRow> tunings;
  for (const std::string& file : files) {
    readers.emplace_back(file, "merge");
    for (const KernelEntry& entry : readers.back().entries()) {
      const auto [place, fresh] =
          kernels.try_emplace(id_of(entry), Origin{readers.size() - 1, entry});
      if (!fresh && better(entry, place->second.entry)) place->second = {readers.size() - 1, entry};
    }
    for (const TuningRow& row : readers.back().tunings()) {
      const auto [place, fresh] = tunings.try_emplace(id_of(row), row);
      if (!fresh && better(row, place->second)) place->second = row;
    }
  }
  CacheReport report;
  SeedWriter writer(out_file);
  for (const auto& [id, origin] : kernels) {
    const KernelRow row = readers[origin.reader].kernel(origin.entry.rowid);
    writer.add(row);
    count(row, report);
  }
  for (const auto& [id, row] : tunings) writer.add(row);
  report.tunings = static_cast<int>(tunings.size());
  writer.finish();
  return report;
}

}  // namespace qrow
