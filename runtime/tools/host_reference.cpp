#include "runtime/tools/host_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Formats with `ieee` spend the largest exponent on infinity and NaN; e4m3 only has NaN, with all
// bits below the sign set.
double small_float(unsigned bits, int exponent_bits, int mantissa_bits, bool ieee) {
  const int largest_exponent = (1 << exponent_bits) - 1;
  const int bias = largest_exponent / 2;
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits) & largest_exponent;
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1.0 : 1.0;
  if (ieee && exponent == largest_exponent) return mantissa == 0 ? sign * kInfinity : kNan;
  if (!ieee && exponent == largest_exponent && mantissa == (1 << mantissa_bits) - 1) return kNan;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// Every value of a format, by its bits: made once, since most of the reference's time would go
// here.
template <int kExponentBits, int kMantissaBits, bool kIeee>
double value_of(unsigned bits) {
  static const std::vector<double> values = [] {
    std::vector<double> all(std::size_t{1} << (kExponentBits + kMantissaBits + 1));
    for (unsigned i = 0; i < all.size(); ++i)
      all[i] = small_float(i, kExponentBits, kMantissaBits, kIeee);
    return all;
  }();
  return values[bits];
}

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Where one token's row of a pool begins.
const char* token_row(const void* pool, const std::int32_t* table, long long token, int page_size,
                      long long page_stride, long long token_stride, long long head_offset) {
  const long long page = table[token / page_size];
  return static_cast<const char*>(pool) + page * page_stride + token % page_size * token_stride +
         head_offset;
}

double scale_of(const float* scales, long long offset_bytes) {
  return scales == nullptr ? 1.0
                           : load<float>(reinterpret_cast<const char*>(scales) + offset_bytes);
}

// One output row: query row `row` of request `request`, query head `head`.
struct Row {
  long long request, row, head;
};

struct RowProblem {
  const Spec& spec;
  const qrow_args& args;
  int rows;

  long long kv_head(const Row& at) const { return at.head / spec.group(); }

  double score(const Row& at, long long token) const {
    const int size = size_of(static_cast<DType>(spec.kv_dtype));
    const int q_size = size_of(static_cast<DType>(spec.q_dtype));
    const char* q = static_cast<const char*>(args.q) +
                    (at.request * rows + at.row) * args.q_row_stride + at.head * args.q_head_stride;
    const char* key = token_row(args.k, args.page_table + at.request * args.page_table_stride,
                                token, spec.page_size, args.k_page_stride, args.k_token_stride,
                                kv_head(at) * args.k_head_stride);
    double sum = 0;
    for (int e = 0; e < spec.head_dim; ++e) {
      sum += stored_number(q + e * q_size, spec.q_dtype) *
             stored_number(key + e * size, spec.kv_dtype);
    }
    const long long offset = spec.scale == Scale::head ? kv_head(at) * args.k_scale_head_stride : 0;
    const double softmax_scale =
        args.softmax_scale != 0
            ? args.softmax_scale
            : static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.head_dim)));
    return sum * scale_of(args.k_scale, offset) * softmax_scale;
  }

  // Returns the LSE in natural log; `out` has head_dim_v elements.
  double solve(const Row& at, double* out) const {
    const long long kv_len = args.kv_lens[at.request];
    const long long num_keys = spec.mask == Mask::causal ? kv_len - rows + at.row + 1 : kv_len;
    std::fill(out, out + spec.head_dim_v, kv_len > args.max_kv_len ? kNan : 0.0);
    if (kv_len > args.max_kv_len) return kNan;
    if (num_keys <= 0) return -kInfinity;

    std::vector<double> weights;
    for (long long token = 0; token < num_keys; ++token) weights.push_back(score(at, token));
    const double maximum = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - maximum);

    const std::int32_t* table = args.v_page_table != nullptr ? args.v_page_table : args.page_table;
    const int size = size_of(static_cast<DType>(spec.kv_dtype));
    for (long long token = 0; token < num_keys; ++token) {
      const char* value =
          token_row(args.v, table + at.request * args.page_table_stride, token, spec.page_size,
                    args.v_page_stride, args.v_token_stride, kv_head(at) * args.v_head_stride);
      for (int e = 0; e < spec.head_dim_v; ++e) {
        out[e] += weights[static_cast<std::size_t>(token)] / total *
                  stored_number(value + e * size, spec.kv_dtype);
      }
    }
    const long long offset = spec.scale == Scale::head ? kv_head(at) * args.v_scale_head_stride : 0;
    for (int e = 0; e < spec.head_dim_v; ++e) out[e] *= scale_of(args.v_scale, offset);
    return maximum + std::log(total);
  }
};

}  // namespace

double stored_number(const void* element, int dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::bf16:
      return value_of<8, 7, true>(load<std::uint16_t>(element));
    case DType::f16:
      return value_of<5, 10, true>(load<std::uint16_t>(element));
    case DType::f32:
      return load<float>(element);
    case DType::e4m3:
      return value_of<4, 3, false>(load<std::uint8_t>(element));
    case DType::e5m2:
      return value_of<5, 2, true>(load<std::uint8_t>(element));
    case DType::int8:
      return load<std::int8_t>(element);
  }
  return kNan;
}

ReferenceResult host_reference(const Spec& spec, const qrow_args& args) {
  const RowProblem problem{spec, args, args.rows != 0 ? args.rows : spec.max_rows};
  const std::size_t num_rows =
      static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(problem.rows);
  const std::size_t num_heads = static_cast<std::size_t>(spec.num_q_heads);
  ReferenceResult result;
  result.out.resize(num_rows * num_heads * static_cast<std::size_t>(spec.head_dim_v));
  for (std::size_t i = 0; i < num_rows * num_heads; ++i) {
    const std::size_t row = i / num_heads;
    const Row at{static_cast<long long>(row) / problem.rows,
                 static_cast<long long>(row) % problem.rows, static_cast<long long>(i % num_heads)};
    const double lse =
        problem.solve(at, result.out.data() + i * static_cast<std::size_t>(spec.head_dim_v));
    if (spec.lse != Lse::off)
      result.lse.push_back(static_cast<float>(spec.lse == Lse::base_2 ? lse / std::log(2.0) : lse));
  }
  return result;
}

}  // namespace qrow
