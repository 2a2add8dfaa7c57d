#include "cache/kernel_rows.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/checksum.hpp"
#include "cache/digest_bytes.hpp"

namespace qrow {
namespace {

// In the order that read_kernel() reads and write_kernel() binds; the cubin follows.
#define QROW_KERNEL_COLUMNS                                                             \
  "key, nvrtc_build, pinned, cubin_bytes, created_unix, checksum, family, arch, "       \
  "entry_name, registers, spill_bytes, stack_bytes, smem_bytes, compile_ms, key_text, " \
  "options, case_line, "

constexpr auto kSelectKey =
    "SELECT rowid, " QROW_KERNEL_COLUMNS
    "cubin FROM kernel WHERE key = ?1 ORDER BY created_unix DESC, rowid DESC";
constexpr auto kSelectPrefix = "SELECT rowid, " QROW_KERNEL_COLUMNS
                               "cubin FROM kernel WHERE substr(lower(hex(key)), 1, length(?1)) = ?1"
                               " ORDER BY key, created_unix DESC, rowid DESC";
constexpr auto kSelectRow =
    "SELECT rowid, " QROW_KERNEL_COLUMNS "cubin FROM kernel WHERE rowid = ?1";
constexpr auto kSelectList =
    "SELECT rowid, " QROW_KERNEL_COLUMNS
    "x'' FROM kernel WHERE (?1 = '' OR arch = ?1) AND (?2 = '' OR family = ?2)"
    " ORDER BY family, arch, key_text, created_unix DESC, rowid DESC";
constexpr auto kSelectEntries =
    "SELECT rowid, key, nvrtc_build, arch, created_unix, checksum FROM kernel "
    "ORDER BY key, nvrtc_build";
constexpr auto kInsert = "INSERT OR REPLACE INTO kernel (" QROW_KERNEL_COLUMNS
                         "cubin) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
                         "?14, ?15, ?16, ?17, ?18)";
constexpr auto kIsPinned = "SELECT pinned FROM kernel WHERE key = ?1 AND nvrtc_build = ?2";
constexpr auto kPin = "UPDATE kernel SET pinned = 1 WHERE rowid = ?1";
constexpr auto kDeleteRow = "DELETE FROM kernel WHERE rowid = ?1";
constexpr auto kDeleteBuild = "DELETE FROM kernel WHERE key = ?1 AND nvrtc_build = ?2";
constexpr auto kCount = "SELECT count(*), total(pinned), total(cubin_bytes) FROM kernel";
constexpr auto kCountTunings = "SELECT count(*) FROM tuning";
#undef QROW_KERNEL_COLUMNS

std::string damage_of(const StoredKernel& stored) {
  const KernelRow& row = stored.row;
  const char* what = nullptr;
  if (stored.checksum != kernel_checksum(row)) {
    what = "its checksum does not match";
  } else if (row.cubin_bytes != static_cast<std::int64_t>(row.cubin.size())) {
    what = "its cubin has another size than it says";
  } else {
    return {};
  }
  return fmt::format("kernel {} ({}, {}, NVRTC {}): {}", row.key.hex(), row.family, row.arch,
                     row.nvrtc_build, what);
}

StoredKernel read_kernel(const sqlite::Cursor& cursor) {
  StoredKernel stored;
  KernelRow& row = stored.row;
  int column = 0;
  stored.rowid = cursor.integer(column++);
  row.key = digest_from_bytes(cursor.blob(column++)).value_or(Digest{});
  row.nvrtc_build = cursor.text(column++);
  row.pinned = cursor.integer(column++) != 0;
  row.cubin_bytes = cursor.integer(column++);
  row.created_unix = cursor.integer(column++);
  stored.checksum = digest_from_bytes(cursor.blob(column++)).value_or(Digest{});
  row.family = cursor.text(column++);
  row.arch = cursor.text(column++);
  row.entry_name = cursor.text(column++);
  row.registers = cursor.small(column++);
  row.spill_bytes = cursor.small(column++);
  row.stack_bytes = cursor.small(column++);
  row.smem_bytes = cursor.small(column++);
  row.compile_ms = cursor.real(column++);
  row.key_text = cursor.text(column++);
  row.options = cursor.text(column++);
  row.case_line = cursor.text(column++);
  const auto cubin = cursor.blob(column++);
  row.cubin.assign(cubin.begin(), cubin.end());
  return stored;
}

template <typename Value>
std::vector<StoredKernel> select(sqlite::Database& database, const char* sql, const Value& value) {
  std::vector<StoredKernel> found;
  sqlite::Cursor cursor = database.query(sql);
  cursor.bind(value);
  while (cursor.step()) {
    found.push_back(read_kernel(cursor));
    found.back().damage = damage_of(found.back());
  }
  return found;
}

}  // namespace

Digest kernel_checksum(const KernelRow& row) {
  return Checksum()
      .add(row.key)
      .add(row.key_text)
      .add(row.family)
      .add(row.arch)
      .add(row.entry_name)
      .add(row.nvrtc_build)
      .add(row.options)
      .add(row.registers)
      .add(row.spill_bytes)
      .add(row.stack_bytes)
      .add(row.smem_bytes)
      .add(std::span<const std::byte>(row.cubin))
      .digest();
}

std::vector<StoredKernel> kernels_of_key(sqlite::Database& database, const Digest& key) {
  return select(database, kSelectKey, key);
}

std::vector<StoredKernel> kernels_with_prefix(sqlite::Database& database,
                                              const std::string& hex_prefix) {
  return select(database, kSelectPrefix, hex_prefix);
}

std::optional<StoredKernel> kernel_of_rowid(sqlite::Database& database, std::int64_t rowid) {
  auto found = select(database, kSelectRow, rowid);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<KernelRow> list_kernels(sqlite::Database& database, const std::string& arch,
                                    const std::string& family) {
  std::vector<KernelRow> rows;
  sqlite::Cursor cursor = database.query(kSelectList);
  cursor.bind(arch, family);
  while (cursor.step()) rows.push_back(read_kernel(cursor).row);
  return rows;
}

std::vector<KernelEntry> kernel_entries(sqlite::Database& database) {
  std::vector<KernelEntry> entries;
  sqlite::Cursor cursor = database.query(kSelectEntries);
  while (cursor.step()) {
    KernelEntry entry;
    entry.rowid = cursor.integer(0);
    entry.key = digest_from_bytes(cursor.blob(1)).value_or(Digest{});
    entry.nvrtc_build = cursor.text(2);
    entry.arch = cursor.text(3);
    entry.created_unix = cursor.integer(4);
    entry.checksum = digest_from_bytes(cursor.blob(5)).value_or(Digest{});
    entries.push_back(std::move(entry));
  }
  return entries;
}

void write_kernel(sqlite::Database& database, const KernelRow& row) {
  database.query(kInsert)
      .bind(row.key, row.nvrtc_build, row.pinned, static_cast<std::int64_t>(row.cubin.size()),
            row.created_unix, kernel_checksum(row), row.family, row.arch, row.entry_name,
            row.registers, row.spill_bytes, row.stack_bytes, row.smem_bytes, row.compile_ms,
            row.key_text, row.options, row.case_line, std::span<const std::byte>(row.cubin))
      .run();
}

bool is_pinned(sqlite::Database& database, const Digest& key, const std::string& nvrtc_build) {
  sqlite::Cursor cursor = database.query(kIsPinned);
  return cursor.bind(key, nvrtc_build).step() && cursor.integer(0) != 0;
}

void pin_kernel(sqlite::Database& database, std::int64_t rowid) {
  database.query(kPin).bind(rowid).run();
}

void delete_kernel(sqlite::Database& database, std::int64_t rowid) {
  database.query(kDeleteRow).bind(rowid).run();
}

void delete_kernel(sqlite::Database& database, const Digest& key, const std::string& nvrtc_build) {
  database.query(kDeleteBuild).bind(key, nvrtc_build).run();
}

void count_rows(sqlite::Database& database, StoreCounts& counts) {
  {
    sqlite::Cursor cursor = database.query(kCount);
    cursor.step();
    counts.kernels = cursor.integer(0);
    counts.pinned = static_cast<std::int64_t>(cursor.real(1));
    counts.cubin_bytes = static_cast<std::int64_t>(cursor.real(2));
  }
  counts.tunings = database.number(kCountTunings);
  counts.file_bytes = database.number("PRAGMA page_count") * database.number("PRAGMA page_size");
}

}  // namespace qrow
