// Conversions and approximate functions as the hardware does them, on bit patterns. Exact unless
// said; compared with recorded results of a GPU in tests/emulator.
#pragma once

#include <cmath>
#include <cstring>

namespace qrow::emulator {

inline float float_of_bits(unsigned bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
inline unsigned bits_of_float(float f) {
  unsigned bits;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}

inline float bf16_to_float(unsigned bits) { return float_of_bits(bits << 16); }

// Round to nearest even; every NaN becomes 0x7fff.
inline unsigned float_to_bf16(float f) {
  const unsigned bits = bits_of_float(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

// Every NaN becomes 0x7fffffff.
inline float f16_to_float(unsigned bits) {
  const unsigned sign = (bits & 0x8000u) << 16;
  const unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return float_of_bits(mantissa != 0 ? 0x7fffffffu : sign | 0x7f800000u);
  if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float subnormal = static_cast<float>(mantissa) * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -subnormal : subnormal;
}

// Round to nearest even, overflow to infinity; every NaN becomes 0x7fff.
inline unsigned float_to_f16(float f) {
  const unsigned bits = bits_of_float(f);
  const unsigned sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above
  if (magnitude < 0x38800000u) {                        // below 2^-14: in steps of 2^-24
    const float steps = float_of_bits(magnitude) * 16777216.0f;
    return sign | static_cast<unsigned>(std::nearbyint(steps));
  }
  return sign | (((magnitude + 0xfffu + (magnitude >> 13 & 1)) >> 13) - (112u << 10));
}

// 448 is the largest; codes 0x7f and 0xff are NaN.
inline float e4m3_to_float(unsigned bits) {
  const unsigned exponent = bits >> 3 & 15, mantissa = bits & 7;
  const bool negative = bits & 128;
  if (exponent == 15 && mantissa == 7) return float_of_bits(0x7fffffffu);
  const float value =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                    : std::ldexp(static_cast<float>(mantissa + 8), static_cast<int>(exponent) - 10);
  return negative ? -value : value;
}

inline unsigned e4m3_to_f16(unsigned bits) { return float_to_f16(e4m3_to_float(bits)); }

// The top byte of an f16; NaN becomes 0x7fff.
inline unsigned e5m2_to_f16(unsigned bits) {
  return (bits & 127) > 124 ? 0x7fffu : (bits & 255) << 8;
}

inline float flushed(float f) {
  const unsigned bits = bits_of_float(f);
  return (bits & 0x7f800000u) == 0 ? float_of_bits(bits & 0x80000000u) : f;
}

// ex2.approx.ftz: within 2^-22 of the true value, as the hardware's own.
inline float exp2_approx(float x) { return flushed(std::exp2(flushed(x))); }
// lg2.approx
inline float log2_approx(float x) { return std::log2(x); }

}  // namespace qrow::emulator
