// Which instruction the probe executes. Compiled by the host compiler and by NVRTC.
#pragma once

namespace qrow {

enum class ProbeOperation : int {
  e4m3x4_to_f16 = 0,  // [1 word] -> [2]
  f16_to_float,       // [1], an f16 in the low half -> [1]
  pack_bf16x2,        // [2 floats] -> [1]
  pack_f16x2,         // [2 floats] -> [1]
  exp2_approx,        // [1 float] -> [1]
  log2_approx,        // [1 float] -> [1]
  movmatrix_trans,    // [1] -> [1]
  ldmatrix,           // [4], a row of 16 bytes of shared memory -> [4]
  ldmatrix_trans,     // the same
  stmatrix,           // [4] -> [4], the lane's row of 16 bytes of shared memory
  stmatrix_trans,     // the same
  reduce_add,         // [1] -> [1], over the warp
  reduce_min,         // the same, signed
  reduce_max,         // the same, unsigned
  mma_bf16,           // [10]: a, b and c of the lane -> [4 floats]
  mma_f16,            // the same
};
inline constexpr int kProbeOperations = 16;

struct ProbeSpec {
  int operation;  // ProbeOperation
};

struct ProbeTuning {
  int num_warps;
};

constexpr int num_threads(ProbeTuning tuning) { return 32 * tuning.num_warps; }

// 32-bit words that a lane reads and writes.
constexpr int words_in(ProbeOperation operation) {
  switch (operation) {
    case ProbeOperation::pack_bf16x2:
    case ProbeOperation::pack_f16x2:
      return 2;
    case ProbeOperation::ldmatrix:
    case ProbeOperation::ldmatrix_trans:
    case ProbeOperation::stmatrix:
    case ProbeOperation::stmatrix_trans:
      return 4;
    case ProbeOperation::mma_bf16:
    case ProbeOperation::mma_f16:
      return 10;
    default:
      return 1;
  }
}
constexpr int words_out(ProbeOperation operation) {
  switch (operation) {
    case ProbeOperation::e4m3x4_to_f16:
      return 2;
    case ProbeOperation::ldmatrix:
    case ProbeOperation::ldmatrix_trans:
    case ProbeOperation::stmatrix:
    case ProbeOperation::stmatrix_trans:
    case ProbeOperation::mma_bf16:
    case ProbeOperation::mma_f16:
      return 4;
    default:
      return 1;
  }
}

}  // namespace qrow
