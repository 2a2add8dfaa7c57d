// The kernel table: its SQL and the checksum of a row. Private to cache/. Functions without state;
// they throw sqlite::Failure, and those that write expect an open transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"

namespace qrow {

struct StoredKernel {
  std::int64_t rowid = 0;
  KernelRow row;
  Digest checksum;
  std::string damage;  // "" for a sound row, else what is wrong with it
};

// Persisted. Over the cubin and everything that decides how it is used; not over provenance that
// may be rewritten (pinned, case line, times).
Digest kernel_checksum(const KernelRow& row);

// With cubins, checked. The newest first.
std::vector<StoredKernel> kernels_of_key(sqlite::Database& database, const Digest& key);
std::vector<StoredKernel> kernels_with_prefix(sqlite::Database& database,
                                              const std::string& hex_prefix);
std::optional<StoredKernel> kernel_of_rowid(sqlite::Database& database, std::int64_t rowid);
// Without cubins, unchecked.
std::vector<KernelRow> list_kernels(sqlite::Database& database, const std::string& arch,
                                    const std::string& family);

// What order and choice need, without reading cubins. In the order of (key, nvrtc_build).
struct KernelEntry {
  std::int64_t rowid = 0;
  Digest key;
  std::string nvrtc_build;
  std::string arch;
  std::int64_t created_unix = 0;
  Digest checksum;
};
std::vector<KernelEntry> kernel_entries(sqlite::Database& database);

// Replaces the row of the same (key, nvrtc_build).
void write_kernel(sqlite::Database& database, const KernelRow& row);
bool is_pinned(sqlite::Database& database, const Digest& key, const std::string& nvrtc_build);
void pin_kernel(sqlite::Database& database, std::int64_t rowid);
void delete_kernel(sqlite::Database& database, std::int64_t rowid);
void delete_kernel(sqlite::Database& database, const Digest& key, const std::string& nvrtc_build);

// Sets kernels, tunings, pinned, cubin_bytes, file_bytes.
void count_rows(sqlite::Database& database, StoreCounts& counts);

}  // namespace qrow
