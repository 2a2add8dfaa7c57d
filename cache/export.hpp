// Whole-file operations on cache files: export, import, merge, verify, clear. Each throws
// Error(cache) naming the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/kernel_store.hpp"

namespace qrow {

struct CacheReport {
  int kernels = 0;
  int tunings = 0;
  int bad = 0;
  std::int64_t bytes = 0;
  std::vector<std::string> notes;  // one sentence per bad row
};

struct ExportFilter {
  std::string arch;          // "": all
  std::vector<Digest> keys;  // empty: all
  bool kernels = true;
  bool tunings = true;
};

// A seed: rollback-journal mode, one file, deterministic bytes for the same rows. Written beside
// `file` and renamed. A file that is there already is replaced only if it is empty or itself a qrow
// file; else it is refused and stays as it is. The same holds for `out_file` of a merge.
CacheReport export_cache(KernelStore& from, const std::string& file, const ExportFilter& filter);
// Throws Error(cache) if an export to `file` would be refused for what is there.
void check_export_place(const std::string& file);
// Adds the rows of `file` as pinned rows. Foreign, damaged or newer files are refused by name.
CacheReport import_cache(KernelStore& into, const std::string& file);
// REQUIRES: at least one file.
CacheReport merge_caches(const std::string& out_file, const std::vector<std::string>& files);
// Reads every row: checksum, text against digest. With `repair` bad rows are deleted.
CacheReport verify_cache(KernelStore& store, bool repair);
CacheReport clear_cache(KernelStore& store);

}  // namespace qrow
