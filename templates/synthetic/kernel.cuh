// Fills device memory for tests, benchmarks and the tuner: reproducible normal values, or poison.
#pragma once

#include "templates/common/target.cuh"
#include "templates/synthetic/config.cuh"
#include "templates/synthetic/params.cuh"
#include "templates/synthetic/rounding.cuh"

namespace qrow {

// 64 well mixed bits of a counter: two rounds of multiply and fold.
__device__ inline unsigned long long counter_hash(unsigned long long seed,
                                                  unsigned long long index) {
  unsigned long long bits = index + seed * 0x9e3779b97f4a7c15ull;
  for (int round = 0; round < 2; ++round) {
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93ull;
  }
  return bits ^ (bits >> 32);
}

// Box-Muller. The angle is in half turns, so that no argument reduction is needed; |value| <= 6.7.
__device__ inline float normal_value(unsigned long long seed, unsigned long long index) {
  const unsigned long long bits = counter_hash(seed, index);
  const float uniform =
      (static_cast<float>(static_cast<unsigned>(bits >> 32)) + 1.0f) * 2.3283064e-10f;  // (0, 1]
  const float half_turns =
      static_cast<float>(static_cast<unsigned>(bits)) * 4.6566129e-10f;  // [0, 2]
  return sqrtf(fmaxf(-2.0f * logf(uniform), 0.0f)) * cospif(half_turns);
}

template <SyntheticSpec kSpec>
__device__ void fill_normal(const SyntheticParams& params) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < params.count; i += stride) {
    store_rounded<kSpec.dtype>(params.data, i, normal_value(params.seed, i) * params.factor);
  }
}

__device__ inline void fill_bytes(const SyntheticParams& params) {
  for (unsigned long long r = blockIdx.x; r < params.num_ranges; r += gridDim.x) {
    const SyntheticRange range = params.ranges[r];
    unsigned char* begin = static_cast<unsigned char*>(params.data) + range.offset;
    for (unsigned long long i = threadIdx.x; i < range.bytes; i += blockDim.x)
      begin[i] = static_cast<unsigned char>(params.byte);
  }
}

template <SyntheticSpec kSpec, SyntheticTuning kTuning, Target>
__device__ void synthetic_kernel(const SyntheticParams& params) {
  if constexpr (kSpec.mode == static_cast<int>(SyntheticMode::normal)) {
    fill_normal<kSpec>(params);
  } else {
    fill_bytes(params);
  }
}

}  // namespace qrow
