// The parameters of the reference kernel: a call as the attention kernels see it, and the part of
// the public spec that is not compiled in. `call.out` points to double, `call.out_*_stride` are its
// strides; the workspace fields are unused.
#pragma once

#include "templates/common/params.cuh"

namespace qrow {

struct ReferenceParams {
  DecodeParams call;
  int group_size;
  int page_size;
  int causal;      // 1: row j sees keys [0, kv_len - rows + j]; 0: every row sees every key
  int lse_base_2;  // 1: call.lse is in base 2, 0: base e
};

}  // namespace qrow
