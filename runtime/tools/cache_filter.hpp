// --arch, --model and --only: which rows of a cache file an export, import or merge takes.
#pragma once

#include <string>
#include <vector>

#include "cache/export.hpp"
#include "runtime/tools/arguments.hpp"
#include "runtime/tools/output.hpp"

namespace qrow {

struct CacheFilter {
  std::vector<std::string> archs;                       // canonical; empty: all
  std::vector<std::string> models;                      // config.json files; empty: all
  std::vector<int> tensor_parallel = {1, 2, 4, 8, 16};  // that a model's kernels are looked for
  bool kernels = true;
  bool tunings = true;

  bool takes_all() const { return archs.empty() && models.empty() && kernels && tunings; }
};

// Throws Error(invalid_argument) naming the option that is wrong.
CacheFilter cache_filter(Arguments& arguments);

// The filter in terms of this store's rows. Throws Error(invalid_argument) where it takes no kernel
// although it should.
ExportFilter resolve_filter(const CacheFilter& filter, KernelStore& store);

}  // namespace qrow
