// Paged decode attention as its definition reads, in double: slow, obviously right, the yardstick
// of every other kernel.
//
// One block computes one output row. It walks the keys twice: first for the largest score, then for
// the weighted sum. Warps take keys in turn, the lanes of a warp share the head dimension. It has
// its own conversions (numbers.cuh) and its own paging arithmetic, so that a mistake in the
// product's cannot hide in both.
#pragma once

#include "templates/common/ptx.cuh"
#include "templates/common/target.cuh"
#include "templates/reference/config.cuh"
#include "templates/reference/numbers.cuh"
#include "templates/reference/params.cuh"

namespace qrow {

__device__ inline double reference_nan() { return __longlong_as_double(0x7ff8000000000000ll); }
__device__ inline double reference_infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

__device__ inline double warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// Address of one token's row of one KV head. All offsets are 64 bits wide.
__device__ inline const char* token_row(const void* base, const int* table, long long token,
                                        int page_size, long long page_stride,
                                        long long token_stride, long long head_offset) {
  const long long page = table[token / page_size];
  return static_cast<const char*>(base) + page * page_stride + (token % page_size) * token_stride +
         head_offset;
}

// The output row that this block owns.
struct ReferenceRow {
  int request;
  int row;   // of the request
  int head;  // query head
  int kv_head;
  long long out_row;  // in the packed rows of all requests
  int kv_len;
  long long num_keys;  // that this row sees, counted from the first; negative before position 0
};

__device__ inline ReferenceRow reference_row(const ReferenceParams& params, long long block) {
  const DecodeParams& call = params.call;
  const int num_heads = call.num_kv_heads * params.group_size;
  ReferenceRow at;
  at.head = static_cast<int>(block % num_heads);
  at.out_row = block / num_heads;
  at.request = static_cast<int>(at.out_row / call.rows);
  at.row = static_cast<int>(at.out_row % call.rows);
  at.kv_head = at.head / params.group_size;
  at.kv_len = call.kv_lens[at.request];
  at.num_keys =
      params.causal ? static_cast<long long>(at.kv_len) - call.rows + at.row + 1 : at.kv_len;
  return at;
}

// One dot product of the query row, held by the lanes, with one key row.
template <int kDType, int kDim, int kPerLane>
__device__ double reference_dot(const double (&q)[kPerLane], const char* key, int lane) {
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int element = lane + 32 * i;
    if (element < kDim) sum += q[i] * load_number<kDType>(key, element);
  }
  return warp_sum(sum);
}

template <ReferenceSpec kSpec, ReferenceTuning kTuning>
struct ReferenceShared {
  double sums[kTuning.num_warps][kSpec.head_dim_v];
  double maxima[kTuning.num_warps];
  double weights[kTuning.num_warps];
};

__device__ inline void write_lse(const DecodeParams& call, const ReferenceRow& at, double lse) {
  char* target = reinterpret_cast<char*>(call.lse) + at.out_row * call.lse_row_stride +
                 at.head * call.lse_head_stride;
  *reinterpret_cast<float*>(target) = static_cast<float>(lse);
}

template <ReferenceSpec kSpec>
__device__ void write_constant_row(const DecodeParams& call, const ReferenceRow& at, double value,
                                   double lse) {
  char* out = static_cast<char*>(call.out) + at.out_row * call.out_row_stride +
              at.head * call.out_head_stride;
  for (int e = threadIdx.x; e < kSpec.head_dim_v; e += blockDim.x)
    reinterpret_cast<double*>(out)[e] = value;
  if (call.lse && threadIdx.x == 0) write_lse(call, at, lse);
}

// Adds up the warps' shares and writes the row.
template <ReferenceSpec kSpec, ReferenceTuning kTuning>
__device__ void write_row(const ReferenceParams& params, const ReferenceRow& at,
                          const ReferenceShared<kSpec, kTuning>& shared, double maximum) {
  const DecodeParams& call = params.call;
  double weight = 0;
  for (int w = 0; w < kTuning.num_warps; ++w) weight += shared.weights[w];
  const double v_scale = load_scale(call.v_scale, at.kv_head * call.v_scale_head_stride);
  char* out = static_cast<char*>(call.out) + at.out_row * call.out_row_stride +
              at.head * call.out_head_stride;
  for (int element = threadIdx.x; element < kSpec.head_dim_v; element += blockDim.x) {
    double sum = 0;
    for (int w = 0; w < kTuning.num_warps; ++w) sum += shared.sums[w][element];
    reinterpret_cast<double*>(out)[element] = sum / weight * v_scale;
  }
  if (call.lse && threadIdx.x == 0) {
    const double lse = maximum + log(weight);
    const double log2_e = 1.4426950408889634074;
    write_lse(call, at, params.lse_base_2 ? lse * log2_e : lse);
  }
}

template <ReferenceSpec kSpec, ReferenceTuning kTuning, Target>
__device__ void reference_kernel(const ReferenceParams& params) {
  constexpr int kQPerLane = (kSpec.head_dim + 31) / 32;
  constexpr int kVPerLane = (kSpec.head_dim_v + 31) / 32;
  auto& shared = ptx::static_shared<ReferenceShared<kSpec, kTuning>>();
  const DecodeParams& call = params.call;
  const ReferenceRow at = reference_row(params, blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  if (at.kv_len > call.max_kv_len)
    return write_constant_row<kSpec>(call, at, reference_nan(), reference_nan());
  if (at.num_keys <= 0) return write_constant_row<kSpec>(call, at, 0.0, -reference_infinity());

  const char* q_row = static_cast<const char*>(call.q) + at.out_row * call.q_row_stride +
                      at.head * call.q_head_stride;
  const double k_scale = load_scale(call.k_scale, at.kv_head * call.k_scale_head_stride);
  double q[kQPerLane];
#pragma unroll
  for (int i = 0; i < kQPerLane; ++i) {
    const int element = lane + 32 * i;
    q[i] = element < kSpec.head_dim
               ? load_number<kSpec.q_dtype>(q_row, element) * k_scale * call.softmax_scale
               : 0.0;
  }

  const int* k_table = call.page_table + at.request * call.page_table_stride;
  const int* v_table = call.v_page_table + at.request * call.page_table_stride;
  auto score = [&](long long token) {
    const char* key = token_row(call.k, k_table, token, params.page_size, call.k_page_stride,
                                call.k_token_stride, at.kv_head * call.k_head_stride);
    return reference_dot<kSpec.kv_dtype, kSpec.head_dim>(q, key, lane);
  };

  double maximum = -reference_infinity();
  for (long long token = warp; token < at.num_keys; token += kTuning.num_warps)
    maximum = fmax(maximum, score(token));
  if (lane == 0) shared.maxima[warp] = maximum;
  __syncthreads();
  for (int w = 0; w < kTuning.num_warps; ++w) maximum = fmax(maximum, shared.maxima[w]);

  double weight = 0;
  double sums[kVPerLane] = {};
  for (long long token = warp; token < at.num_keys; token += kTuning.num_warps) {
    const double p = exp(score(token) - maximum);
    const char* value = token_row(call.v, v_table, token, params.page_size, call.v_page_stride,
                                  call.v_token_stride, at.kv_head * call.v_head_stride);
    weight += p;
#pragma unroll
    for (int i = 0; i < kVPerLane; ++i) {
      const int element = lane + 32 * i;
      if (element < kSpec.head_dim_v) sums[i] += p * load_number<kSpec.kv_dtype>(value, element);
    }
  }
#pragma unroll
  for (int i = 0; i < kVPerLane; ++i) {
    const int element = lane + 32 * i;
    if (element < kSpec.head_dim_v) shared.sums[warp][element] = sums[i];
  }
  if (lane == 0) shared.weights[warp] = weight;
  __syncthreads();
  write_row<kSpec, kTuning>(params, at, shared, maximum);
}

}  // namespace qrow
