// What the reference kernel is compiled for. Compiled by the host compiler and by NVRTC.
//
// Only what sizes a loop or chooses a conversion is compiled in; the rest of the public spec
// travels in ReferenceParams, so that a few cubins serve every test case.
#pragma once

namespace qrow {

struct ReferenceSpec {
  int q_dtype;
  int kv_dtype;
  int head_dim;
  int head_dim_v;
};

struct ReferenceTuning {
  int num_warps;  // per block; keys are dealt out to the warps one by one
};

constexpr int num_threads(ReferenceTuning tuning) { return 32 * tuning.num_warps; }

}  // namespace qrow
