#include "cache/seed_file.hpp"

#include <sys/stat.h>
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

// May an export take the place of what is at the real path `file`? Of nothing, an empty file and a
// qrow file of any format; whatever else a person has there is not ours to destroy.
Support may_replace(const std::string& file) {
  struct stat info {};
  const bool there = ::lstat(file.c_str(), &info) == 0;
  if (there && S_ISLNK(info.st_mode))
    return Support::no("it is a symbolic link to a file that is not there");
  if (there && S_ISDIR(info.st_mode)) return Support::no("it is a folder: name a file in it");
  if (there && !S_ISREG(info.st_mode)) return Support::no("it is not a regular file");
  if (there && info.st_size > 0) {
    // Through sqlite, which keeps the locks of a cache that this process has open.
    const sqlite::Header header =
        sqlite::Database::open(file, sqlite::Access::immutable, "").header();
    if (!header.is_sqlite || header.application_id != kApplicationId) {
      return Support::no(
          "it is there already and no cache or export of qrow, so it is not replaced: remove it or "
          "give another path");
    }
  }
  if (file_id(file + "-wal")) {
    return Support::no(
        "it is a cache in use (there is a write-ahead log beside it): give another path");
  }
  return Support::yes();
}

}  // namespace

std::string export_place(const std::string& file) {
  std::string real = real_cache_file(file, true);
  Support support = Support::yes();
  try {
    support = may_replace(real);
  } catch (const sqlite::Failure& failure) {
    support = Support::no("it cannot be read: {}", failure.what());
  }
  if (!support) fail(Status::cache, "cannot write '{}': {}", file, support.reason);
  return real;
}

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
    : file_(export_place(file)), temporary_(fmt::format("{}.{}.tmp", file_, ::getpid())) {
  guarded([&] {
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
  export_place(file_);  // somebody may have put a file there meanwhile
  database_ = {};
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail(Status::cache, "cannot write '{}': {}", file_, std::generic_category().message(error));
  }
}

}  // namespace qrow
