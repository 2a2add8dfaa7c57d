#include "cache/seed_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "cache/cache_path.hpp"
#include "cache/file_change.hpp"
#include "cache/store_file.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

// Exports are meant to be handed on.
constexpr mode_t kExportMode = 0644;

}  // namespace

SeedReader::SeedReader(const std::string& file, const std::string& doing)
    : file_(file), doing_(doing) {
  StoreOptions options;
  options.read_only = true;
  Notes notes;
  OpenFile opened = open_cache_file(options, real_cache_file(resolve_cache_path(file), true),
                                    std::nullopt, notes);
  if (!opened.database) fail(Status::cache, "cannot {} '{}': {}", doing, file, opened.trouble);
  database_ = std::move(opened.database);
}

template <typename Operation>
auto SeedReader::guarded(const Operation& operation) {
  try {
    return operation();
  } catch (const sqlite::Failure& failure) {
    fail(Status::cache, "cannot {} '{}': {}{}", doing_, file_,
         failure.damaged() ? "it is damaged: " : "", failure.what());
  }
}

std::vector<KernelEntry> SeedReader::entries() {
  return guarded([&] { return kernel_entries(database_); });
}

KernelRow SeedReader::kernel(std::int64_t rowid) {
  auto stored = guarded([&] { return kernel_of_rowid(database_, rowid); });
  if (!stored) fail(Status::cache, "cannot {} '{}': it changed while it was read", doing_, file_);
  if (!stored->damage.empty())
    fail(Status::cache, "cannot {} '{}': it is damaged: {}", doing_, file_, stored->damage);
  return std::move(stored->row);
}

std::vector<TuningRow> SeedReader::tunings() {
  std::vector<TuningRow> rows;
  for (StoredTuning& stored : guarded([&] { return all_tunings(database_); })) {
    if (!stored.damage.empty())
      fail(Status::cache, "cannot {} '{}': it is damaged: {}", doing_, file_, stored.damage);
    rows.push_back(std::move(stored.row));
  }
  return rows;
}

SeedWriter::SeedWriter(const std::string& file)
    : file_(real_cache_file(file, true)), temporary_(fmt::format("{}.{}.tmp", file_, ::getpid())) {
  guarded([&] {
    if (file_id(file_ + "-wal")) {
      throw sqlite::Failure(
          0, "it is a cache in use (there is a write-ahead log beside it); give another path");
    }
    ::unlink(temporary_.c_str());  // of a process that died with our number
    temporary_ = real_cache_file(temporary_, false);
    database_ = create_database(temporary_, kExportMode, "");
    // Bytes that nobody uses are zero, not whatever memory held.
    database_.exec("PRAGMA secure_delete = ON");
    transaction_.emplace(database_);
  });
}

SeedWriter::~SeedWriter() {
  transaction_.reset();
  if (!database_) return;
  database_ = {};
  ::unlink(temporary_.c_str());
}

template <typename Operation>
void SeedWriter::guarded(const Operation& operation) {
  try {
    operation();
  } catch (const sqlite::Failure& failure) {
    fail(Status::cache, "cannot write '{}': {}", file_, failure.what());
  }
}

void SeedWriter::add(const KernelRow& row) {
  KernelRow pinned = row;
  pinned.pinned = true;
  guarded([&] { write_kernel(database_, pinned); });
}

void SeedWriter::add(const TuningRow& row) {
  guarded([&] { merge_tuning(database_, row); });
}

void SeedWriter::finish() {
  guarded([&] {
    transaction_->commit();
    transaction_.reset();
  });
  database_ = {};
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail(Status::cache, "cannot write '{}': {}", file_, std::generic_category().message(error));
  }
}

}  // namespace qrow
