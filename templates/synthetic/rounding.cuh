// Rounds a finite float to a stored format: to nearest, ties to even, saturating; never NaN or
// infinity.
#pragma once

#include "templates/common/dtype.cuh"

namespace qrow {

// The code of `value` in a float format with `kMantissaBits` and least normal exponent
// `kLeastExponent`; `kLargestCode` is its largest finite number and `kSignBit` the place of the
// sign.
template <int kMantissaBits, int kLeastExponent, unsigned kLargestCode, int kSignBit>
__device__ unsigned round_to_small_float(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned sign = (bits >> 31) << kSignBit;
  const float magnitude = fabsf(value);
  int exponent = static_cast<int>((bits >> 23) & 255u) - 127;
  if (exponent < kLeastExponent)
    exponent = kLeastExponent;  // subnormals share the least normal exponent's spacing
  // Two exact scalings, because 2^(mantissa bits - exponent) alone may leave the range of a float.
  const float significand =
      magnitude * __uint_as_float(static_cast<unsigned>(127 - exponent / 2) << 23) *
      __uint_as_float(static_cast<unsigned>(127 - (exponent - exponent / 2) + kMantissaBits) << 23);
  // A carry out of the mantissa lands in the exponent field, as it should.
  const unsigned code = (static_cast<unsigned>(exponent - kLeastExponent) << kMantissaBits) +
                        static_cast<unsigned>(rintf(significand));
  return sign | (code < kLargestCode ? code : kLargestCode);
}

template <int kDType>
__device__ void store_rounded(void* data, unsigned long long index, float value) {
  constexpr DType type = static_cast<DType>(kDType);
  if constexpr (type == DType::f32) {
    static_cast<float*>(data)[index] = value;
  } else if constexpr (type == DType::bf16) {
    static_cast<unsigned short*>(data)[index] =
        static_cast<unsigned short>(round_to_small_float<7, -126, 0x7f7fu, 15>(value));
  } else if constexpr (type == DType::f16) {
    static_cast<unsigned short*>(data)[index] =
        static_cast<unsigned short>(round_to_small_float<10, -14, 0x7bffu, 15>(value));
  } else if constexpr (type == DType::e4m3) {
    static_cast<unsigned char*>(data)[index] =
        static_cast<unsigned char>(round_to_small_float<3, -6, 0x7eu, 7>(value));
  } else if constexpr (type == DType::e5m2) {
    static_cast<unsigned char*>(data)[index] =
        static_cast<unsigned char>(round_to_small_float<2, -14, 0x7bu, 7>(value));
  } else {
    static_assert(type == DType::int8, "a data type that cannot be filled");
    static_cast<signed char*>(data)[index] =
        static_cast<signed char>(rintf(fminf(fmaxf(value, -127.0f), 127.0f)));
  }
}

}  // namespace qrow
