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

// About normal, deviation 1: the sum of eight uniform numbers of 16 bits. Integers and one product,
// so that every device and the emulator give the same bits; |value| <= 4.9.
__device__ inline float normal_value(unsigned long long seed, unsigned long long index) {
  unsigned long long bits[2] = {counter_hash(seed, 2 * index), counter_hash(seed, 2 * index + 1)};
  int sum = 1 - 8 * 65535;  // odd: never 0
  for (int i = 0; i < 4; ++i) {
    sum += 2 * static_cast<int>((bits[0] >> (16 * i) & 65535) + (bits[1] >> (16 * i) & 65535));
  }
  // Twice the sum less its mean; 65536^2 8 / 12 is the sum's variance.
  return static_cast<float>(sum) * 9.344062e-06f;
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
