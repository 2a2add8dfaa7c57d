// From the arguments of a call to kernel launches: the one place that checks qrow_args, sizes grids
// and the workspace and fills DecodeParams. Everything here computes on plain numbers: no
// allocation, lock or driver query.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "jit/family.hpp"
#include "runtime/driver/module.hpp"
#include "runtime/include/qrow/qrow.h"
#include "templates/common/params.cuh"
#include "templates/common/partition.cuh"

namespace qrow {

// How one call is laid over the device.
struct Grid {
  long long num_units = 0;  // batch * KV heads * column tiles
  int num_blocks = 0;       // of the attention kernel
  int heads_abreast = 1;    // partition.cuh
  int splits = 0;           // DecodeParams::splits
  bool combine = false;     // partial results may exist: the combine kernel follows
  unsigned combine_x = 0;
  unsigned combine_y = 0;
};

struct GridQuery {
  int num_sms = 0;
  int num_kv_heads = 0;
  int batch = 0;
  long long max_kv_len = 0;
  int splits = 0;         // forced; 0: automatic
  int heads_abreast = 0;  // heads_abreast_on() where it is known beforehand; 0: computed
};

// How many blocks take neighbouring heads side by side when nothing forces splits.
int heads_abreast_on(const Geometry& attention, int num_sms, int num_kv_heads);

// Throws Error(invalid_argument) where the grid would not fit the hardware's limits,
// Error(unsupported) for forced splits of a family that does not split. `combine` may be null where
// `attention` does not split.
Grid grid_of(const Geometry& attention, const Geometry* combine, const GridQuery& query);

// Bytes that such a launch needs; monotonic in batch and max_kv_len.
long long workspace_bytes_of(const Geometry& attention, const GridQuery& query);

// A loaded kernel with the shape that its launches have.
struct KernelLaunch {
  std::shared_ptr<const Module> module;
  int threads = 0;
  int smem_bytes = 0;
};

// Everything that a run of one choice needs, as plain numbers and handles. Immutable once made.
struct Launch {
  KernelLaunch attention;
  KernelLaunch combine;  // no module: this choice never merges
  Geometry geometry;
  Geometry combine_geometry;
  int heads_abreast = 1;             // heads_abreast_on() this device
  bool programmatic_launch = false;  // the arch can overlap combine with the attention kernel
};

// The device side of a run, shared by a context and its plans.
struct LaunchTarget {
  const Driver* driver = nullptr;
  int num_sms = 0;
  std::atomic<unsigned long long> launches{0};
};

// Why a call is refused for what no kernel of this version does, whatever its spec.
inline constexpr const char* kNoCsrTables =
    "CSR page tables are not built yet; pass a dense page_table";
inline constexpr const char* kNoRaggedRows =
    "ragged query rows are not built yet; pass the same rows for every request";
inline constexpr const char* kNoTokenScales = "scales per token are not built yet";

// `args` with defaults filled in, after every check that needs no kernel.
struct CheckedArgs {
  const qrow_args* args = nullptr;
  int rows = 0;
  int max_kv_len = 0;
};
// Throws Error(invalid_argument or unsupported) naming the field.
CheckedArgs check_args(const Spec& spec, const qrow_args& args);

DecodeParams decode_params(const Spec& spec, const CheckedArgs& checked, const Geometry& geometry,
                           const Grid& grid, void* workspace);

// Launches the attention kernel and, where the grid says so, combine. A batch of 0 does nothing.
// Throws Error(workspace_too_small, invalid_argument, driver).
void run(LaunchTarget& target, const Spec& spec, const Launch& launch, const CheckedArgs& checked,
         int splits, void* workspace, std::size_t workspace_bytes, CUstream stream);

}  // namespace qrow
