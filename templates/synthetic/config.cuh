// What a fill kernel is compiled for. Compiled by the host compiler and by NVRTC.
#pragma once

namespace qrow {

enum class SyntheticMode : int {
  normal = 0,  // standard normal values times a factor, rounded to the data type
  bytes = 1,   // one byte value everywhere: poison
};

struct SyntheticSpec {
  int mode;   // SyntheticMode
  int dtype;  // DType; bytes ignores it
};

struct SyntheticTuning {
  int num_warps;
};

constexpr int num_threads(SyntheticTuning tuning) { return 32 * tuning.num_warps; }

}  // namespace qrow
