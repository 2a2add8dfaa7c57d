// How a pure read of device memory is done. Compiled by the host compiler and by NVRTC.
#pragma once

namespace qrow {

struct ReadCeilingSpec {
  int chunk_alignment;  // bytes; the data is a whole number of these
};

struct ReadCeilingTuning {
  int num_warps;
  int vectors_per_thread;  // 16-byte copies that a thread issues per stage
  int num_stages;          // chunks in flight per block
  int blocks_per_sm;       // host side: the grid
};

constexpr int num_threads(ReadCeilingTuning tuning) { return 32 * tuning.num_warps; }

// Contiguous bytes that a block takes at a time.
constexpr int chunk_bytes(ReadCeilingTuning tuning) {
  return num_threads(tuning) * tuning.vectors_per_thread * 16;
}

constexpr int smem_bytes(ReadCeilingSpec, ReadCeilingTuning tuning) {
  return chunk_bytes(tuning) * tuning.num_stages;
}

}  // namespace qrow
