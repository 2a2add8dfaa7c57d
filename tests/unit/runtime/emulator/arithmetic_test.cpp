// Conversions against the definition of each format: every code of the small formats, and rounding
// by comparing with the two nearest numbers.
#include "runtime/emulator/device/arithmetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "runtime/tools/host_reference.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

using namespace emulator;

double stored(DType type, std::uint32_t bits) {
  return stored_number(&bits, static_cast<int>(type));
}

// NaN is NaN; zeros have a sign.
bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// A format of 16 bits, from the table of its numbers alone.
class Rounding {
 public:
  explicit Rounding(DType type) {
    for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
      const double number = stored(type, bits);
      if (std::isnan(number) || std::isinf(number)) break;
      numbers_.push_back(number);
    }
    // Where the next number would be, were there room: from half way on it is infinity.
    const std::size_t last = numbers_.size() - 1;
    numbers_.push_back(2 * numbers_[last] - numbers_[last - 1]);
  }

  // The nearest number's code, the even one of two.
  std::uint32_t operator()(float f) const {
    if (std::isnan(f)) return 0x7fff;
    const std::uint32_t sign = std::signbit(f) ? 0x8000 : 0;
    const double magnitude = std::abs(static_cast<double>(f));
    if (magnitude >= numbers_.back()) return sign | static_cast<std::uint32_t>(numbers_.size() - 1);
    const auto above = std::upper_bound(numbers_.begin(), numbers_.end(), magnitude);
    const auto high = static_cast<std::uint32_t>(above - numbers_.begin()), low = high - 1;
    const double to_low = magnitude - numbers_[low], to_high = numbers_[high] - magnitude;
    if (to_low != to_high) return sign | (to_low < to_high ? low : high);
    return sign | (low % 2 == 0 ? low : high);
  }
  const std::vector<double>& numbers() const { return numbers_; }

 private:
  std::vector<double> numbers_;  // by code; exact in double, as are sums and halves of neighbours
};

template <typename Convert>
int wrong_roundings(const Rounding& rounding, Convert convert, const std::vector<float>& inputs) {
  int wrong = 0;
  for (const float f : inputs) {
    if (convert(f) == rounding(f)) continue;
    if (++wrong == 1) MESSAGE(f, " becomes ", convert(f), ", not ", rounding(f));
  }
  return wrong;
}

// Every number, every middle between two, and the floats beside each; then what is drawn.
std::vector<float> interesting_floats(const Rounding& rounding) {
  std::vector<float> all;
  const auto add = [&all](double number) {
    const auto f = static_cast<float>(number);
    for (const float one : {f, std::nextafter(f, INFINITY), std::nextafter(f, -INFINITY)}) {
      all.push_back(one);
      all.push_back(-one);
    }
  };
  const std::vector<double>& numbers = rounding.numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    add(numbers[i]);
    if (i > 0) add((numbers[i - 1] + numbers[i]) / 2);
  }
  for (const float f :
       {0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
        std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    all.push_back(f);
    all.push_back(-f);
  }
  std::mt19937 random(20240607);
  for (int i = 0; i < 1'000'000; ++i) all.push_back(float_of_bits(static_cast<unsigned>(random())));
  return all;
}

}  // namespace

TEST_CASE("every f16 and bf16 code becomes the float of its definition") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    wrong += !same(static_cast<double>(f16_to_float(bits)), stored(DType::f16, bits));
    wrong += !same(static_cast<double>(bf16_to_float(bits)), stored(DType::bf16, bits));
  }
  CHECK(wrong == 0);
}

TEST_CASE("every fp8 code becomes the float and the f16 of its definition") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const double e4m3 = stored(DType::e4m3, bits), e5m2 = stored(DType::e5m2, bits);
    wrong += !same(static_cast<double>(e4m3_to_float(bits)), e4m3);
    wrong += !same(stored(DType::f16, e4m3_to_f16(bits)), e4m3);
    wrong += !same(stored(DType::f16, e5m2_to_f16(bits)), e5m2);
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats become the nearest f16 and bf16, ties the even one") {
  const Rounding f16(DType::f16), bf16(DType::bf16);
  CHECK(f16.numbers().size() == 0x7c01);
  CHECK(bf16.numbers().size() == 0x7f81);
  CHECK(wrong_roundings(f16, float_to_f16, interesting_floats(f16)) == 0);
  CHECK(wrong_roundings(bf16, float_to_bf16, interesting_floats(bf16)) == 0);
  CHECK(float_to_f16(65519.0f) == 0x7bff);
  CHECK(float_to_f16(65520.0f) == 0x7c00);
  CHECK(float_to_f16(-INFINITY) == 0xfc00);
}

TEST_CASE("a number that was converted to float and back is the same") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool f16_nan = (bits & 0x7fff) > 0x7c00, bf16_nan = (bits & 0x7fff) > 0x7f80;
    wrong += float_to_f16(f16_to_float(bits)) != (f16_nan ? 0x7fff : bits);
    wrong += float_to_bf16(bf16_to_float(bits)) != (bf16_nan ? 0x7fff : bits);
  }
  CHECK(wrong == 0);
}

TEST_CASE("powers and logarithms to base two are within two units in the last place") {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponents(-125, 127);
  for (int i = 0; i < 100'000; ++i) {
    const float x = exponents(random), y = exp2_approx(x);
    const double exact = std::exp2(static_cast<double>(x));
    if (std::abs(static_cast<double>(y) - exact) > std::ldexp(exact, -22)) FAIL_CHECK(x);
    const double log = std::log2(static_cast<double>(y));
    if (std::abs(static_cast<double>(log2_approx(y)) - log) > std::ldexp(1 + std::abs(log), -22))
      FAIL_CHECK(y);
  }
  CHECK(exp2_approx(-INFINITY) == 0);
  CHECK(exp2_approx(-127) == 0);    // subnormal results are zero
  CHECK(exp2_approx(1e-40f) == 1);  // subnormal arguments are zero
  CHECK(std::isinf(exp2_approx(128)));
  CHECK(std::isnan(exp2_approx(NAN)));
  CHECK(log2_approx(0) == -INFINITY);
  CHECK(std::isnan(log2_approx(-1)));
}

}  // namespace qrow
