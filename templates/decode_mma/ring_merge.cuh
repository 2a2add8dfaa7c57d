// The end of a segment: the rings' states are merged through shared memory and the result is
// written, to the output or as a partial for combine. Every warp merges its share of the elements
// of its columns.
#pragma once

#include "templates/common/convert.cuh"
#include "templates/common/schedule.cuh"
#include "templates/decode_mma/config.cuh"
#include "templates/decode_mma/tile_math.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
class RingMerge {
  using Math = TileMath<kSpec, kTuning, kTarget>;
  static constexpr int kHeadDim = kSpec.head_dim;
  static constexpr int kOs = kHeadDim / 16;
  static constexpr DType kOut = DType(kSpec.out_dtype);

 public:
  // `smem`: the merge buffer. `group`: of the ring's warps.
  __device__ RingMerge(const DecodeParams& params, char* smem, int ring, int group)
      : params_(params), smem_(reinterpret_cast<float4*>(smem)), ring_(ring), group_(group) {}

  // Hands this warp's state over, lane by lane. REQUIRES: the rings are drained.
  __device__ void publish(const Math& math) const {
    float4* to = state_of(ring_);
#pragma unroll
    for (int n = 0; n < kTuning.column_blocks; ++n) {
      float sum[2] = {math.sum[n][0], math.sum[n][1]};
#pragma unroll
      for (int offset = 4; offset < 32; offset <<= 1) {
        sum[0] += __shfl_xor_sync(~0u, sum[0], offset);
        sum[1] += __shfl_xor_sync(~0u, sum[1], offset);
      }
#pragma unroll
      for (int i = 0; i < kOs; ++i) {
        const float(&o)[4] = math.o[n][i];
        to[(n * block_words(kSpec) + i) * 32] = make_float4(o[0], o[1], o[2], o[3]);
      }
      to[(n * block_words(kSpec) + kOs) * 32] =
          make_float4(math.reference[n][0], math.reference[n][1], sum[0], sum[1]);
    }
  }

  // After a barrier of the block: merges and writes. `unit` is what O must be multiplied by, `slot`
  // that of a partial result, -1: to the output.
  __device__ void write(const Segment& segment, long long slot, float log2_scale,
                        float unit) const {
#pragma unroll 1
    for (int n = 0; n < kTuning.column_blocks; ++n) {
      const Weights w = weights_of(segment, n, log2_scale, unit);
      const int first = (group_ * kTuning.column_blocks + n) * 8 + 2 * (lane() & 3);
      const int g = lane() >> 2;
      if constexpr (Math::kExpands) {
        // Rows g and g + 8 are neighbours in d: a lane has pairs of both its columns.
        const Column a = column_of(segment, first, slot), b = column_of(segment, first + 1, slot);
#pragma unroll 1
        for (int i = ring_; i < kOs; i += kTuning.num_rings) {
          const float4 o = merged(n, i, w);
          store_pair(a, 16 * i + 2 * g, o.x, o.z);
          store_pair(b, 16 * i + 2 * g, o.y, o.w);
        }
        if (ring_ == 0 && g == 0) {
          store_lse(a, w.log2_sum[0]);
          store_lse(b, w.log2_sum[1]);
        }
      } else {
        // Rows g and g + 1 are neighbours: lanes of even g take the first column's pairs, the
        // others the second's, each giving its partner the other column's element.
        const bool odd = g & 1;
        const Column to = column_of(segment, first + odd, slot);
#pragma unroll 1
        for (int i = ring_; i < kOs; i += kTuning.num_rings) {
          const float4 o = merged(n, i, w);
          const float low = __shfl_xor_sync(~0u, odd ? o.x : o.y, 4);
          const float high = __shfl_xor_sync(~0u, odd ? o.z : o.w, 4);
          store_pair(to, 16 * i + (g & 6), odd ? low : o.x, odd ? o.y : low);
          store_pair(to, 16 * i + (g & 6) + 8, odd ? high : o.z, odd ? o.w : high);
        }
        if (ring_ == 0 && g < 2) store_lse(to, odd ? w.log2_sum[1] : w.log2_sum[0]);
      }
    }
  }

 private:
  // Where a column's result goes.
  struct Column {
    bool live;
    bool partial;
    char* o;
    float* lse;  // may be null
  };

  // What each ring's O of this lane's two columns counts, normalised.
  struct Weights {
    float of[kTuning.num_rings][2];
    float log2_sum[2];
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x) & 31; }
  __device__ float4* state_of(int ring) const {
    const int warp = ring * kTuning.row_groups + group_;
    return smem_ + warp * (state_words(kSpec, kTuning) * 32) + lane();
  }

  __device__ Weights weights_of(const Segment& segment, int n, float log2_scale, float unit) const {
    float4 stats[kTuning.num_rings];
    float m[2] = {Math::kNoReference, Math::kNoReference};
#pragma unroll
    for (int ring = 0; ring < kTuning.num_rings; ++ring) {
      stats[ring] = state_of(ring)[(n * block_words(kSpec) + kOs) * 32];
      m[0] = fmaxf(m[0], stats[ring].x);
      m[1] = fmaxf(m[1], stats[ring].y);
    }
    Weights w;
    float sum[2] = {0, 0};
#pragma unroll
    for (int ring = 0; ring < kTuning.num_rings; ++ring) {
      w.of[ring][0] = ptx::exp2_approx((stats[ring].x - m[0]) * log2_scale);
      w.of[ring][1] = ptx::exp2_approx((stats[ring].y - m[1]) * log2_scale);
      sum[0] = fmaf(stats[ring].z, w.of[ring][0], sum[0]);
      sum[1] = fmaf(stats[ring].w, w.of[ring][1], sum[1]);
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (segment.too_long) sum[c] = __int_as_float(0x7fffffff);
      const float factor = sum[c] == 0 ? 0.0f : unit / sum[c];  // a NaN sum stays NaN
      w.log2_sum[c] = sum[c] == 0 ? -__int_as_float(0x7f800000)
                                  : m[c] * log2_scale + ptx::log2_approx(sum[c]) - Math::kShift;
#pragma unroll
      for (int ring = 0; ring < kTuning.num_rings; ++ring) w.of[ring][c] *= factor;
    }
    return w;
  }

  // Word i of column block n.
  __device__ float4 merged(int n, int i, const Weights& w) const {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int ring = 0; ring < kTuning.num_rings; ++ring) {
      const float4 o = state_of(ring)[(n * block_words(kSpec) + i) * 32];
      sum.x = fmaf(o.x, w.of[ring][0], sum.x);
      sum.y = fmaf(o.y, w.of[ring][1], sum.y);
      sum.z = fmaf(o.z, w.of[ring][0], sum.z);
      sum.w = fmaf(o.w, w.of[ring][1], sum.w);
    }
    return sum;
  }

  __device__ Column column_of(const Segment& segment, int tile_column, long long slot) const {
    const int tile = segment.head_tile % params_.column_tiles;
    const int column = tile * columns_per_tile(kTuning) + tile_column;
    const int row = column / kSpec.group_size;
    if (slot >= 0) {
      const long long index = slot * columns_per_tile(kTuning) + tile_column;
      return {row < params_.rows, true,
              reinterpret_cast<char*>(params_.partial_o + index * kHeadDim),
              params_.partial_lse + index};
    }
    const long long out_row = static_cast<long long>(segment.request) * params_.rows + row;
    const int head =
        segment.head_tile / params_.column_tiles * kSpec.group_size + column % kSpec.group_size;
    char* o = static_cast<char*>(params_.out) + out_row * params_.out_row_stride +
              head * params_.out_head_stride;
    char* lse = reinterpret_cast<char*>(params_.lse);
    if (lse != nullptr) lse += out_row * params_.lse_row_stride + head * params_.lse_head_stride;
    return {row < params_.rows, false, o, reinterpret_cast<float*>(lse)};
  }

  __device__ static void store_pair(const Column& to, int d, float low, float high) {
    if (!to.live) return;
    if (to.partial) {
      ptx::store_cg(reinterpret_cast<float2*>(to.o) + d / 2, make_float2(low, high));
    } else if constexpr (kOut == DType::f32) {
      reinterpret_cast<float2*>(to.o)[d / 2] = make_float2(low, high);
    } else {
      reinterpret_cast<unsigned*>(to.o)[d / 2] = pack_pair<kOut>(low, high);
    }
  }

  __device__ void store_lse(const Column& to, float log2_sum) const {
    if (!to.live || to.lse == nullptr) return;
    if (to.partial) {
      ptx::store_cg(to.lse, log2_sum);
    } else {
      *to.lse = log2_sum * params_.lse_unit;
    }
  }

  const DecodeParams& params_;
  float4* const smem_;
  const int ring_;
  const int group_;
};

}  // namespace qrow
