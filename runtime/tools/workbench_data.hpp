// The device data of a case line: KV pools with shuffled pages, table, lengths, queries, scales,
// output.
//
// Keys and values have deviation 1 after their scales (k_scale differs from v_scale), so scores
// have deviation 1 too. Everything that a kernel must not read into a result is poisoned: block 0
// and dead slots hold NaN, unused table entries -1, the output NaN.
#pragma once

#include <vector>

#include "runtime/case.hpp"
#include "runtime/include/qrow/qrow.h"
#include "runtime/tools/workbench_device.hpp"

namespace qrow {

// Bytes between neighbours in one of the two pools, [pages, page_size, KV heads, head_dim].
struct PoolStrides {
  long long page = 0;
  long long token = 0;
  long long head = 0;
};

class CaseData {
 public:
  // REQUIRES: a case with a workload. `num_sets` pools of the same shape with different values, for
  // cold caches. Throws Error(unsupported) naming what of the case the workbench cannot build,
  // Error(out_of_memory) with the bytes needed and free.
  CaseData(WorkbenchDevice& device, const Case& c, int num_sets = 1);

  const Case& description() const { return case_; }
  int num_sets() const { return static_cast<int>(sets_.size()); }
  long long num_rows() const { return static_cast<long long>(case_.batch) * case_.spec.max_rows; }
  const std::vector<int>& lens() const { return lens_; }

  // Of one call on one set. `lse` is set where the spec has it. Pointers are valid while this
  // object lives.
  qrow_args args(int set = 0) const;

  // Overwrites the lengths on the device; pages and poison stay those of the case. REQUIRES: one
  // per request.
  void write_lens(const std::vector<int>& lens);
  void poison_output();

  // Everything that a call reads, copied to the host: pointers of `args` lead into `storage`;
  // outputs are null.
  struct HostCopy {
    std::vector<std::vector<unsigned char>> storage;
    qrow_args args{};
  };
  HostCopy download(int set = 0) const;

  int read_device_status() const;
  const DeviceBuffer& out() const { return out_; }
  const DeviceBuffer& lse() const { return lse_; }

  // Device bytes that a call has to touch: live KV, Q and O.
  long long bytes_per_call() const;
  // Of one set's pools.
  static long long pool_bytes(const Case& c);

 private:
  struct Pools {
    DeviceBuffer k, v;
  };

  void make_table();
  void make_scales();
  void fill_pools(Pools& pools, unsigned long long seed);
  std::vector<SyntheticRange> dead_ranges(const PoolStrides& strides, int head_dim) const;
  PoolStrides strides_of(int head_dim) const;

  WorkbenchDevice& device_;
  Case case_;
  std::vector<int> lens_;   // of the case, one per request
  std::vector<int> table_;  // [batch, table_width_]
  long long table_width_ = 0;
  long long num_pages_ = 0;
  std::vector<Pools> sets_;
  DeviceBuffer q_, out_, lse_, lens_buffer_, table_buffer_, k_scale_, v_scale_, status_;
};

// Request i's length, with a single length for all expanded.
std::vector<int> expand_lens(const Case& c);

}  // namespace qrow
