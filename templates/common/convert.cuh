// Conversions of stored values, all exact unless said.
#pragma once

#include "templates/common/ptx.cuh"
#include "templates/common/target.cuh"

namespace qrow {

// Four e4m3 bytes to f16 pairs (byte 0 and 1, byte 2 and 3), times e4m3_shift(target).
//
// Without the instruction the bits are moved: sign to bit 15, exponent and mantissa 7 bits up. The
// f16 read there is the value times 2^-8 (the exponent biases differ by 8), subnormals included,
// and the factor is folded into a scale later.
template <Target kTarget>
__device__ __forceinline__ void e4m3x4_to_f16(unsigned bytes, unsigned& low, unsigned& high) {
  if constexpr (kTarget.e4m3_convert) {
    ptx::e4m3x4_to_f16x2(bytes, low, high);
  } else {
    const unsigned a =
        __byte_perm(bytes, 0, 0x1404);  // bytes 0 and 1, each in the upper half of 16 bits
    const unsigned b = __byte_perm(bytes, 0, 0x3424);
    low = (a & 0x80008000u) | ((a >> 1) & 0x3f803f80u);
    high = (b & 0x80008000u) | ((b >> 1) & 0x3f803f80u);
  }
}

// What a value converted by e4m3x4_to_f16 must be multiplied by.
template <Target kTarget>
constexpr float e4m3_unit() {
  return kTarget.e4m3_convert ? 1.0f : 256.0f;
}

__device__ __forceinline__ float bf16_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

// One element of a packed pair; `index` 0 is the low half.
template <DType kType>
__device__ __forceinline__ float pair_element(unsigned pair, int index) {
  const auto bits = static_cast<unsigned short>(index ? pair >> 16 : pair & 0xffffu);
  return kType == DType::bf16 ? bf16_to_float(bits) : ptx::f16_to_float(bits);
}

// Two floats to a packed pair of bf16 or f16, rounded to nearest even.
template <DType kType>
__device__ __forceinline__ unsigned pack_pair(float low, float high) {
  return kType == DType::bf16 ? ptx::pack_bf16x2(low, high) : ptx::pack_f16x2(low, high);
}

// 2^exponent for -126 <= exponent <= 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23);
}

}  // namespace qrow
