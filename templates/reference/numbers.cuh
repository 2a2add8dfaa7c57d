// Stored numbers as doubles, by the definition of each format: sign, exponent and mantissa fields
// taken apart with integer arithmetic. Deliberately shares nothing with the conversions of the
// product's kernels.
#pragma once

#include "templates/common/dtype.cuh"

namespace qrow {

// 2^exponent for any exponent of a normal double.
__device__ inline double power_of_two(int exponent) {
  return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

// A small float: `kExponentBits` and `kMantissaBits` below a sign bit. Formats with infinity
// (kIeee) spend the largest exponent on infinity and NaN; e4m3 only has NaN, where all bits below
// the sign are set.
template <int kExponentBits, int kMantissaBits, bool kIeee>
__device__ double small_float(unsigned bits) {
  const int bias = (1 << (kExponentBits - 1)) - 1;
  const int largest_exponent = (1 << kExponentBits) - 1;
  const int all_ones = (1 << (kExponentBits + kMantissaBits)) - 1;
  const int mantissa = static_cast<int>(bits) & ((1 << kMantissaBits) - 1);
  const int exponent = static_cast<int>(bits >> kMantissaBits) & largest_exponent;
  const bool negative = (bits >> (kExponentBits + kMantissaBits)) & 1u;
  double magnitude;
  if (kIeee && exponent == largest_exponent) {
    magnitude = __longlong_as_double(mantissa ? 0x7ff8000000000000ll : 0x7ff0000000000000ll);
  } else if (!kIeee && (static_cast<int>(bits) & all_ones) == all_ones) {
    magnitude = __longlong_as_double(0x7ff8000000000000ll);
  } else if (exponent == 0) {
    magnitude = mantissa * power_of_two(1 - bias - kMantissaBits);
  } else {
    magnitude = (mantissa + (1 << kMantissaBits)) * power_of_two(exponent - bias - kMantissaBits);
  }
  return negative ? -magnitude : magnitude;
}

// Element `index` of a row of `kDType` at `row`.
template <int kDType>
__device__ double load_number(const char* row, int index) {
  constexpr DType type = static_cast<DType>(kDType);
  if constexpr (type == DType::bf16) {
    return small_float<8, 7, true>(reinterpret_cast<const unsigned short*>(row)[index]);
  } else if constexpr (type == DType::f16) {
    return small_float<5, 10, true>(reinterpret_cast<const unsigned short*>(row)[index]);
  } else if constexpr (type == DType::e4m3) {
    return small_float<4, 3, false>(reinterpret_cast<const unsigned char*>(row)[index]);
  } else if constexpr (type == DType::e5m2) {
    return small_float<5, 2, true>(reinterpret_cast<const unsigned char*>(row)[index]);
  } else if constexpr (type == DType::int8) {
    return reinterpret_cast<const signed char*>(row)[index];
  } else {
    static_assert(type == DType::f32, "a data type that the reference cannot read");
    return reinterpret_cast<const float*>(row)[index];
  }
}

// 1 where there are no scales.
__device__ inline double load_scale(const float* scales, long long offset_bytes) {
  return scales
             ? *reinterpret_cast<const float*>(reinterpret_cast<const char*>(scales) + offset_bytes)
             : 1.0;
}

}  // namespace qrow
