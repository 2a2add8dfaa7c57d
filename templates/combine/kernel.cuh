// combine: merges the partial results that attention blocks left in the workspace
// (templates/common/partition.cuh).
//
// Block (x, y) takes merge record x and the y-th run of columns of its tile. Parts are merged in
// their order in the context, so the result does not depend on scheduling. Everything is read past
// L1 and from the log2 domain.
#pragma once

#include "templates/combine/config.cuh"
#include "templates/common/convert.cuh"
#include "templates/common/params.cuh"
#include "templates/common/partition.cuh"

namespace qrow {

// One column's sum over the parts of one warp: a lane holds kWidth neighbouring elements.
template <int kHeadDim>
class PartSum {
  static constexpr int kWidth = kHeadDim / 32;
  static constexpr int kInFlight = 8;  // rows asked for before the first is used
  static_assert(kHeadDim % 64 == 0 && kHeadDim <= 256, "a lane holds 2, 4 or 8 elements");

 public:
  float value[kWidth];
  float weight;

  // Parts first, first + stride, ...; `maximum` is reduced over all parts and returned through it.
  __device__ PartSum(const DecodeParams& params, const MergeRecord& record, int column, int first,
                     int stride, float& maximum)
      : params_(params), record_(record), column_(column) {
    weight = 0;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) value[i] = 0;
    request(first, stride);
    maximum = largest();
    for (int part = first; part < record.num_parts; part += kInFlight * stride) {
      if (part != first) request(part, stride);
      add(maximum);
    }
  }

 private:
  // Part 0 is the end of the block that began the unit, the others the beginnings of the blocks
  // after it in the same lane.
  __device__ long long index_of(int part) const {
    const long long block = record_.first_block + part * params_.heads_abreast;
    return (block * 2 + (part == 0 ? 1 : 0)) * params_.columns_per_tile + column_;
  }

  // The log2 weight of every part, first of all: finite, so that empty parts weigh exp2(-inf) = 0.
  __device__ float largest() const {
    float m = -1e30f;
    for (int part = static_cast<int>(threadIdx.x) & 31; part < record_.num_parts; part += 32) {
      m = fmaxf(m, ptx::load_cg(params_.partial_lse + index_of(part)));
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, offset));
    return m;
  }

  __device__ void request(int part, int stride) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const bool live = part + i * stride < record_.num_parts;
      const long long index = live ? index_of(part + i * stride) : 0;
      lse_[i] = live ? ptx::load_cg(params_.partial_lse + index) : -__int_as_float(0x7f800000);
      const float* row = params_.partial_o + index * kHeadDim + lane * kWidth;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) row_[i][j] = 0;
      if (!live) continue;
      if constexpr (kWidth == 2) {
        const float2 v = ptx::load_cg(reinterpret_cast<const float2*>(row));
        row_[i][0] = v.x, row_[i][1] = v.y;
      } else {
#pragma unroll
        for (int j = 0; j < kWidth / 4; ++j) {
          const float4 v = ptx::load_cg(reinterpret_cast<const float4*>(row) + j);
          row_[i][4 * j] = v.x, row_[i][4 * j + 1] = v.y, row_[i][4 * j + 2] = v.z,
                      row_[i][4 * j + 3] = v.w;
        }
      }
    }
  }

  __device__ void add(float maximum) {
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const float w = ptx::exp2_approx(lse_[i] - maximum);
      weight += w;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) value[j] = fmaf(w, row_[i][j], value[j]);
    }
  }

  const DecodeParams& params_;
  const MergeRecord& record_;
  const int column_;
  float lse_[kInFlight];
  float row_[kInFlight][kWidth];
};

// kWidth neighbouring elements of an output row.
template <DType kType, int kWidth>
__device__ __forceinline__ void store_merged(void* out, const float (&v)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; i += 2) {
    if constexpr (kType == DType::f32) {
      static_cast<float2*>(out)[i / 2] = make_float2(v[i], v[i + 1]);
    } else {
      static_cast<unsigned*>(out)[i / 2] = pack_pair<kType>(v[i], v[i + 1]);
    }
  }
}

template <CombineSpec kSpec>
__device__ __forceinline__ void write_merged(const DecodeParams& params, const MergeRecord& record,
                                             int tile_column, float (&value)[kSpec.head_dim / 32],
                                             float weight, float maximum) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const float inverse = weight == 0 ? 0.0f : 1.0f / weight;
#pragma unroll
  for (float& x : value) x *= inverse;
  const int column = record.head_tile % params.column_tiles * params.columns_per_tile + tile_column;
  const int head =
      record.head_tile / params.column_tiles * kSpec.group_size + column % kSpec.group_size;
  const long long row =
      static_cast<long long>(record.request) * params.rows + column / kSpec.group_size;
  constexpr DType kOut = DType(kSpec.out_dtype);
  char* out =
      static_cast<char*>(params.out) + row * params.out_row_stride + head * params.out_head_stride;
  store_merged<kOut>(out + lane * (kSpec.head_dim / 32) * size_of(kOut), value);
  if (lane == 0 && params.lse != nullptr) {
    const float log2_sum =
        weight == 0 ? -__int_as_float(0x7f800000) : maximum + ptx::log2_approx(weight);
    *reinterpret_cast<float*>(reinterpret_cast<char*>(params.lse) + row * params.lse_row_stride +
                              head * params.lse_head_stride) = log2_sum * params.lse_unit;
  }
}

template <CombineSpec kSpec, CombineTuning kTuning, Target kTarget>
__device__ __forceinline__ void combine_kernel(const DecodeParams& params) {
  constexpr int kShare = kTuning.warps_per_column;
  constexpr int kWidth = kSpec.head_dim / 32;
  static_assert(kTuning.num_warps % kShare == 0, "a column belongs to whole warps");
  if constexpr (kTarget.programmatic_launch) {
    ptx::wait_for_previous_kernel();
    ptx::launch_dependents();
  }
  const int4 words = ptx::load_cg(reinterpret_cast<const int4*>(params.merge_records) + blockIdx.x);
  const MergeRecord record{words.x, words.y, words.z, words.w};
  if (record.num_parts <= 1) return;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int column = static_cast<int>(blockIdx.y) * columns_per_block(kTuning) + warp / kShare;
  const int first_column = record.head_tile % params.column_tiles * params.columns_per_tile;
  const bool live =
      column < params.columns_per_tile && (first_column + column) / kSpec.group_size < params.rows;
  if constexpr (kShare == 1) {
    if (!live) return;
    float maximum;
    PartSum<kSpec.head_dim> sum(params, record, column, 0, 1, maximum);
    write_merged<kSpec>(params, record, column, sum.value, sum.weight, maximum);
  } else {
    using Sums = float[kTuning.num_warps][kSpec.head_dim + 1];
    Sums& shared = ptx::static_shared<Sums>();
    float maximum = 0;
    if (live) {
      PartSum<kSpec.head_dim> sum(params, record, column, warp % kShare, kShare, maximum);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) shared[warp][lane * kWidth + i] = sum.value[i];
      if (lane == 0) shared[warp][kSpec.head_dim] = sum.weight;
    }
    __syncthreads();
    if (!live || warp % kShare != 0) return;
    float value[kWidth] = {};
    float weight = 0;
#pragma unroll
    for (int w = 0; w < kShare; ++w) {
      weight += shared[warp + w][kSpec.head_dim];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) value[i] += shared[warp + w][lane * kWidth + i];
    }
    write_merged<kSpec>(params, record, column, value, weight, maximum);
  }
}

}  // namespace qrow
