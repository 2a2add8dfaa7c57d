// The kernel spec and tuning of combine, for host and device.
#pragma once

#include "templates/common/dtype.cuh"

namespace qrow {

struct CombineSpec {
  int out_dtype;
  int head_dim;    // of V and the output
  int group_size;  // query heads per KV head
};

struct CombineTuning {
  int num_warps;         // per block
  int warps_per_column;  // that share one column's parts
};

constexpr int num_threads(CombineTuning t) { return 32 * t.num_warps; }
constexpr int columns_per_block(CombineTuning t) { return t.num_warps / t.warps_per_column; }

}  // namespace qrow
