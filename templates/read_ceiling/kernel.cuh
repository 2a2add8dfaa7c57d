// Reads device memory as fast as it goes and does nothing else: the ceiling that a decode kernel is
// held against.
//
// A persistent grid; each block keeps a ring of contiguous chunks in flight through cp.async. A
// thread only looks at the bytes that it copied itself, so the loop has no barrier.
//
// No cache policy: see ptx::cp_async_16.
#pragma once

#include "templates/common/ptx.cuh"
#include "templates/common/target.cuh"
#include "templates/read_ceiling/config.cuh"
#include "templates/read_ceiling/params.cuh"

namespace qrow {

template <ReadCeilingTuning kTuning>
__device__ void issue_chunk(const ReadCeilingParams& params, unsigned stage,
                            unsigned long long chunk) {
  constexpr unsigned kThreads = num_threads(kTuning);
#pragma unroll
  for (int i = 0; i < kTuning.vectors_per_thread; ++i) {
    const unsigned place = (i * kThreads + threadIdx.x) * 16;
    const unsigned long long offset = chunk * chunk_bytes(kTuning) + place;
    if (offset < params.bytes) {
      ptx::cp_async_16(stage + place, static_cast<const char*>(params.data) + offset);
    }
  }
}

template <ReadCeilingSpec kSpec, ReadCeilingTuning kTuning, Target>
__device__ void read_ceiling_kernel(const ReadCeilingParams& params) {
  const char* ring = ptx::dynamic_shared();
  const unsigned long long num_chunks =
      (params.bytes + chunk_bytes(kTuning) - 1) / chunk_bytes(kTuning);

  const unsigned smem = ptx::smem_address(ring);
  unsigned long long next = blockIdx.x;
  for (int stage = 0; stage < kTuning.num_stages - 1; ++stage, next += gridDim.x) {
    if (next < num_chunks) issue_chunk<kTuning>(params, smem + stage * chunk_bytes(kTuning), next);
    ptx::cp_async_commit();
  }

  unsigned folded = 0;
  int stage = 0;
  for (unsigned long long chunk = blockIdx.x; chunk < num_chunks;
       chunk += gridDim.x, next += gridDim.x) {
    const int refill = stage == 0 ? kTuning.num_stages - 1 : stage - 1;
    if (next < num_chunks) issue_chunk<kTuning>(params, smem + refill * chunk_bytes(kTuning), next);
    ptx::cp_async_commit();
    ptx::cp_async_wait<kTuning.num_stages - 1>();
    // One word of each thread's share: the copies are what is measured.
    folded ^=
        *reinterpret_cast<const unsigned*>(ring + stage * chunk_bytes(kTuning) + threadIdx.x * 16);
    stage = stage + 1 == kTuning.num_stages ? 0 : stage + 1;
  }
  if (folded == params.sink_value) *params.sink = folded;
}

}  // namespace qrow
