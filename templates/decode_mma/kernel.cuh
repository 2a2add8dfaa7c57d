// decode_mma: paged decode attention on mma.sync, every architecture from sm_80.
//
// A block has num_rings rings of KV tiles. A ring belongs to row_groups warps, each with its own
// columns and its own online-softmax state; the block meets only at the end of a segment, to merge
// its rings. K and V arrive by cp.async, so any page size works. Which segments a block computes:
// templates/common/partition.cuh.
#pragma once

#include "templates/common/convert.cuh"
#include "templates/common/schedule.cuh"
#include "templates/decode_mma/config.cuh"
#include "templates/decode_mma/q_tile.cuh"
#include "templates/decode_mma/tile_math.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
class DecodeMma {
  static constexpr int kHeadDim = kSpec.head_dim;
  static constexpr int kTileTokens = kTuning.tile_tokens;
  static constexpr int kStages = kTuning.num_stages;
  static constexpr int kRings = kTuning.num_rings;
  static constexpr int kGroups = kTuning.row_groups;
  static constexpr int kColumns = columns_per_tile(kTuning);
  static constexpr int kThreads = num_threads(kTuning);
  static constexpr int kStepTokens = step_tokens(kTuning);
  static constexpr int kStageBytes = 2 * tile_bytes(kSpec, kTuning);
  static constexpr int kMergeRow = merge_row_floats(kSpec);
  static constexpr float kLog2E = 1.4426950408889634f;

  static_assert(kTileTokens % kTuning.slab_tokens == 0, "a tile is whole softmax steps");
  static_assert(kStages >= 2, "one tile is computed while the others are in flight");
  static_assert(kTileTokens % kGroups == 0, "the warps of a ring share its loads evenly");
  static_assert(kRings <= 15, "one named barrier a ring");

  using Math = TileMath<kSpec, kTuning, kTarget>;
  using Loader =
      PagedKvLoader<kv_row_bytes(kSpec), kSpec.page_size, kTileTokens, kTileTokens / kGroups>;

 public:
  __device__ DecodeMma(const DecodeParams& params, char* smem)
      : params_(params),
        smem_(smem),
        smem_q_(smem + q_offset_bytes(kSpec, kTuning)),
        stats_(reinterpret_cast<float*>(smem + stats_offset_bytes(kSpec, kTuning))),
        scratch_(reinterpret_cast<int*>(stats_ + 2 * kRings * kColumns)),
        warp_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0)),
        ring_(warp_ / kGroups),
        group_(warp_ % kGroups) {}

  __device__ void segment(const BlockSchedule<kStepTokens>& schedule) {
    const Segment& s = schedule.segment();
    const int kv_head = s.head_tile / params_.column_tiles;
    const int first_column = s.head_tile % params_.column_tiles * kColumns;

    QTile<kSpec, kTuning> q;
    q.request(params_, s.request, kv_head, first_column);
    Loader loader(params_, s.request, kv_head, s.kv_len, group_ * (kTileTokens / kGroups));
    const int tiles = s.end_step - s.first_step;
    const int first_token = s.first_step * kStepTokens + ring_ * kTileTokens;
    const unsigned ring = ptx::smem_address(smem_) + ring_ * (kStages * kStageBytes);
    loader.prefetch(first_token);
    for (int i = 0; i < kStages - 1; ++i) issue(loader, first_token, i, tiles, ring);

    const float q_unit = q.store(smem_q_, scratch_);
    const float k_scale = scale_of(params_.k_scale, params_.k_scale_head_stride, kv_head);
    float unit = q_unit * k_scale;
    if constexpr (Math::kExpands) unit *= e4m3_unit<kTarget>();
    const float log2_scale = params_.softmax_scale * kLog2E * unit;
    __syncthreads();

    math_.reset();
    const int first_limit = s.kv_len - params_.rows;
    const unsigned smem_q = ptx::smem_address(smem_q_) +
                            group_ * (kTuning.column_blocks * 8 * QTile<kSpec, kTuning>::kRowBytes);
    const int warp_column = first_column + group_ * kTuning.column_blocks * 8;
#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
      ptx::cp_async_wait<kStages - 2>();
      ring_barrier();  // every warp's copies have landed, and every warp has left the stage that is
                       // filled next
      issue(loader, first_token, i + kStages - 1, tiles, ring);
      math_.tile(ring + i % kStages * kStageBytes, smem_q, first_token + i * kStepTokens,
                 first_limit, warp_column, log2_scale);
    }
    ptx::cp_async_wait<0>();
    finish(schedule, kv_head, first_column, log2_scale);
  }

 private:
  __device__ void ring_barrier() const {
    if constexpr (kGroups == 1) {
      __syncwarp();
    } else {
      ptx::named_barrier(1 + ring_, 32 * kGroups);
    }
  }

  // Starts the copies of this ring's tile i and asks for the next tile's page ids. A group is
  // committed in any case, so that waiting by count stays right.
  __device__ static void issue(Loader& loader, int first_token, int i, int tiles, unsigned ring) {
    if (i < tiles) {
      const int token = first_token + i * kStepTokens;
      loader.load(token, ring + i % kStages * kStageBytes);
      loader.prefetch(token + kStepTokens);
    }
    ptx::cp_async_commit();
  }

  __device__ static float scale_of(const float* scales, long long head_stride, int kv_head) {
    return scales == nullptr ? 1.0f
                             : *reinterpret_cast<const float*>(
                                   reinterpret_cast<const char*>(scales) + kv_head * head_stride);
  }

  // Merges the rings and writes the segment's result.
  __device__ void finish(const BlockSchedule<kStepTokens>& schedule, int kv_head, int first_column,
                         float log2_scale) {
    publish_stats();
    __syncthreads();  // the rings are drained as well: the merge buffer may overwrite them
    publish_o(log2_scale);
    __syncthreads();
    float unit = scale_of(params_.v_scale, params_.v_scale_head_stride, kv_head);
    if constexpr (Math::kExpands) unit *= e4m3_unit<kTarget>();
    for (int item = static_cast<int>(threadIdx.x); item < kColumns * (kHeadDim / 8);
         item += kThreads) {
      write(schedule, kv_head, first_column, item / (kHeadDim / 8), item % (kHeadDim / 8) * 8,
            log2_scale, unit);
    }
    if (threadIdx.x == 0) schedule.write_merge_record();
    __syncthreads();  // the next segment's tiles may overwrite the merge buffer
  }

  __device__ float& maximum_of(int ring, int column) const {
    return stats_[ring * kColumns + column];
  }
  __device__ float& sum_of(int ring, int column) const {
    return stats_[(kRings + ring) * kColumns + column];
  }
  __device__ float* merge_row(int ring, int column) const {
    return reinterpret_cast<float*>(smem_) + (ring * kColumns + column) * kMergeRow;
  }

  __device__ void publish_stats() {
    const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
    for (int n = 0; n < kTuning.column_blocks; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float sum = math_.sum[n][c];
        for (int offset = 4; offset < 32; offset <<= 1) sum += __shfl_xor_sync(~0u, sum, offset);
        if (lane < 4) {
          const int column = (group_ * kTuning.column_blocks + n) * 8 + 2 * lane + c;
          maximum_of(ring_, column) = math_.maximum[n][c];
          sum_of(ring_, column) = sum;
        }
      }
    }
  }

  __device__ float largest_maximum(int column) const {
    float m = maximum_of(0, column);
#pragma unroll
    for (int ring = 1; ring < kRings; ++ring) m = fmaxf(m, maximum_of(ring, column));
    return m;
  }

  // O, rescaled to the block's maximum, to the merge buffer.
  __device__ void publish_o(float log2_scale) {
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2, t = static_cast<int>(threadIdx.x) & 3;
#pragma unroll
    for (int n = 0; n < kTuning.column_blocks; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int column = (group_ * kTuning.column_blocks + n) * 8 + 2 * t + c;
        const float factor =
            ptx::exp2_approx((math_.maximum[n][c] - largest_maximum(column)) * log2_scale);
        float* row = merge_row(ring_, column);
#pragma unroll
        for (int i = 0; i < kHeadDim / 16; ++i) {
          const float low = math_.o[n][i][c] * factor, high = math_.o[n][i][2 + c] * factor;
          if constexpr (Math::kExpands) {
            *reinterpret_cast<float2*>(row + 16 * i + 2 * g) = make_float2(low, high);
          } else {
            row[16 * i + g] = low;
            row[16 * i + g + 8] = high;
          }
        }
      }
    }
  }

  // Eight elements from `d` of one column: to the output, or as a partial result.
  __device__ void write(const BlockSchedule<kStepTokens>& schedule, int kv_head, int first_column,
                        int column, int d, float log2_scale, float unit) const {
    const int row = (first_column + column) / kSpec.group_size;
    if (row >= params_.rows) return;
    const float m = largest_maximum(column);
    float sum = 0;
    float v[8] = {};
#pragma unroll
    for (int ring = 0; ring < kRings; ++ring) {
      sum += sum_of(ring, column) * ptx::exp2_approx((maximum_of(ring, column) - m) * log2_scale);
      const auto* o = reinterpret_cast<const float4*>(merge_row(ring, column) + d);
      const float4 a = o[0], b = o[1];
      v[0] += a.x, v[1] += a.y, v[2] += a.z, v[3] += a.w;
      v[4] += b.x, v[5] += b.y, v[6] += b.z, v[7] += b.w;
    }
    const Segment& s = schedule.segment();
    const float nan = __int_as_float(0x7fffffff);
    const float inverse = s.too_long ? nan : sum == 0 ? 0.0f : unit / sum;  // a NaN sum stays NaN
#pragma unroll
    for (float& x : v) x *= inverse;
    const float log2_sum = s.too_long ? nan
                           : sum == 0 ? -__int_as_float(0x7f800000)
                                      : m * log2_scale + ptx::log2_approx(sum) - Math::kShift;
    if (!schedule.writes_output()) {
      const long long index = schedule.partial_slot() * kColumns + column;
      auto* o = reinterpret_cast<float4*>(params_.partial_o + index * kHeadDim + d);
      ptx::store_cg(o, make_float4(v[0], v[1], v[2], v[3]));
      ptx::store_cg(o + 1, make_float4(v[4], v[5], v[6], v[7]));
      if (d == 0) ptx::store_cg(params_.partial_lse + index, log2_sum);
      return;
    }
    const long long out_row = static_cast<long long>(s.request) * params_.rows + row;
    const int head = kv_head * kSpec.group_size + (first_column + column) % kSpec.group_size;
    constexpr DType kOut = DType(kSpec.out_dtype);
    store_8<kOut>(static_cast<char*>(params_.out) + out_row * params_.out_row_stride +
                      head * params_.out_head_stride + d * size_of(kOut),
                  v);
    if (d == 0 && params_.lse != nullptr) {
      *reinterpret_cast<float*>(reinterpret_cast<char*>(params_.lse) +
                                out_row * params_.lse_row_stride + head * params_.lse_head_stride) =
          log2_sum * params_.lse_unit;
    }
  }

  const DecodeParams& params_;
  char* const smem_;
  char* const smem_q_;
  float* const stats_;
  int* const scratch_;
  const int warp_;
  const int ring_;
  const int group_;
  Math math_;
};

// blockIdx.x in [0, params.num_blocks).
template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
__device__ __forceinline__ void decode_mma_kernel(const DecodeParams& params) {
  extern __shared__ __align__(128) char smem[];
  if constexpr (kTarget.programmatic_launch) ptx::wait_for_previous_kernel();
  BlockSchedule<step_tokens(kTuning)> schedule(params);
  DecodeMma<kSpec, kTuning, kTarget> decode(params, smem);
  for (; !schedule.done(); schedule.advance()) {
    if (schedule.segment().too_long && threadIdx.x == 0 && params.device_status != nullptr) {
      atomicOr(params.device_status, kStatusKvLenAboveBound);
    }
    decode.segment(schedule);
  }
  if constexpr (kTarget.programmatic_launch) ptx::launch_dependents();
}

}  // namespace qrow
