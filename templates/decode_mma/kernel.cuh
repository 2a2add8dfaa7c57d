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
#include "templates/decode_mma/ring_merge.cuh"
#include "templates/decode_mma/tile_math.cuh"
#include "templates/decode_mma/tile_stream.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
class DecodeMma {
  static constexpr int kGroups = kTuning.row_groups;
  static constexpr int kWarpColumns = kTuning.column_blocks * 8;
  static constexpr int kStepTokens = step_tokens(kTuning);
  static constexpr float kLog2E = 1.4426950408889634f;

  static_assert(kTuning.tile_tokens % kTuning.slab_tokens == 0, "a tile is whole softmax steps");
  static_assert(kTuning.num_stages >= 2, "one tile is used while the others are in flight");
  static_assert(kTuning.tile_tokens % kGroups == 0, "a ring's warps share its loads evenly");
  static_assert(kTuning.num_rings <= 15, "one named barrier a ring");

  using Math = TileMath<kSpec, kTuning, kTarget>;
  using Schedule = BlockSchedule<kStepTokens>;

 public:
  // What the block's warps share of the schedule: the segment in work and the next one.
  struct Plan {
    Schedule schedule;
    Segment segments[2];
    bool valid[2];
  };

  __device__ DecodeMma(const DecodeParams& params, char* smem, Plan& plan)
      : params_(params),
        plan_(plan),
        warp_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0)),
        ring_(warp_ / kGroups),
        group_(warp_ % kGroups),
        smem_q_(ptx::smem_address(smem) + q_offset_bytes(kSpec, kTuning)),
        scratch_(reinterpret_cast<int*>(smem + scratch_offset_bytes(kSpec, kTuning))),
        stream_(params, ptx::smem_address(smem), ring_, group_),
        merge_(params, smem, ring_, group_) {}

  __device__ void run() {
    if (warp_ == 0) publish_first_segment();
    __syncthreads();
    if (!plan_.valid[0]) return;
    request_q(0);
    stream_.begin(plan_.segments[0]);
    if (is_first_lane()) announce_and_advance(1);
    q_.publish_range(scratch_);
    __syncthreads();
    for (int parity = 0;; parity ^= 1) {
      store_q();
      __syncthreads();
      compute(parity);
      finish(parity);
      if (!plan_.valid[parity ^ 1]) return;
      stream_.begin(plan_.segments[parity ^ 1]);
    }
  }

 private:
  __device__ static bool is_first_lane() { return threadIdx.x == 0; }

  __device__ void publish_first_segment() {
    Schedule schedule(params_);
    if (!is_first_lane()) return;
    plan_.schedule = schedule;
    publish(0);
  }

  // By the first lane: slot `parity` receives the schedule's current segment.
  __device__ void publish(int parity) {
    plan_.valid[parity] = !plan_.schedule.done();
    plan_.segments[parity] = plan_.schedule.segment();
  }

  // By the first lane: tells combine and the caller about the schedule's current segment, then slot
  // `parity` receives the one after it.
  __device__ void announce_and_advance(int parity) {
    plan_.schedule.write_merge_record(params_);
    if (plan_.schedule.segment().too_long && params_.device_status != nullptr) {
      atomicOr(params_.device_status, kStatusKvLenAboveBound);
    }
    plan_.schedule.advance(params_);
    publish(parity);
  }

  __device__ void request_q(int parity) {
    const Segment& s = plan_.segments[parity];
    const int kv_head = s.head_tile / params_.column_tiles;
    q_.request(params_, s.request, kv_head,
               s.head_tile % params_.column_tiles * columns_per_tile(kTuning));
    k_scale_ = scale_of(params_.k_scale, params_.k_scale_head_stride, kv_head);
  }

  __device__ void store_q() {
    float unit = q_.store(smem_q_, scratch_) * k_scale_;
    if constexpr (Math::kExpands) unit *= e4m3_unit<kTarget>();
    log2_scale_ = params_.softmax_scale * kLog2E * unit;
  }

  __device__ void compute(int parity) {
    const Segment& s = plan_.segments[parity];
    const int first_limit = s.kv_len - params_.rows;
    const int warp_column =
        s.head_tile % params_.column_tiles * columns_per_tile(kTuning) + group_ * kWarpColumns;
    const int end_token = s.end_step * kStepTokens;
    const unsigned smem_q = smem_q_ + group_ * (kWarpColumns * kSpec.head_dim * 2);
    math_.reset(log2_scale_);
#pragma unroll 1
    for (int token = s.first_step * kStepTokens + ring_ * kTuning.tile_tokens; token < end_token;
         token += kStepTokens) {
      stream_.wait();
      ring_barrier();  // all warps' copies have landed, and all have left the tile used before
      const unsigned tile = stream_.use();
      stream_.load();
      math_.tile(tile, smem_q, token, first_limit, warp_column);
    }
  }

  __device__ void ring_barrier() const {
    if constexpr (kGroups == 1) {
      __syncwarp();
    } else {
      ptx::named_barrier(1 + ring_, 32 * kGroups);
    }
  }

  // Merges the rings, writes the result, asks for the next segment's Q and makes room for the
  // segment after it.
  __device__ void finish(int parity) {
    const bool more = plan_.valid[parity ^ 1];
    __syncthreads();  // the rings are drained
    merge_.publish(math_);
    __syncthreads();
    if (more) request_q(parity ^ 1);
    write(plan_.segments[parity]);
    if (!more) return;
    q_.publish_range(scratch_);
    __syncthreads();  // every warp has read the segment
    if (is_first_lane()) announce_and_advance(parity);
  }

  __device__ void write(const Segment& segment) const {
    const Schedule& schedule = plan_.schedule;
    const long long slot =
        schedule.writes_output(params_, segment) ? -1 : schedule.partial_slot(segment);
    float unit = scale_of(params_.v_scale, params_.v_scale_head_stride,
                          segment.head_tile / params_.column_tiles);
    if constexpr (Math::kExpands) unit *= e4m3_unit<kTarget>();
    merge_.write(segment, slot, log2_scale_, unit);
  }

  __device__ static float scale_of(const float* scales, long long head_stride, int kv_head) {
    return scales == nullptr ? 1.0f
                             : *reinterpret_cast<const float*>(
                                   reinterpret_cast<const char*>(scales) + kv_head * head_stride);
  }

  const DecodeParams& params_;
  Plan& plan_;
  const int warp_;
  const int ring_;
  const int group_;
  const unsigned smem_q_;
  int* const scratch_;
  TileStream<kSpec, kTuning> stream_;
  RingMerge<kSpec, kTuning, kTarget> merge_;
  QTile<kSpec, kTuning> q_;
  float k_scale_;
  float log2_scale_;
  Math math_;
};

// blockIdx.x in [0, params.num_blocks).
template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
__device__ __forceinline__ void decode_mma_kernel(const DecodeParams& params) {
  using Decode = DecodeMma<kSpec, kTuning, kTarget>;
  static_assert(sizeof(typename Decode::Plan) <= kPlanBytes, "the block's plan fits its memory");
  if constexpr (kTarget.programmatic_launch) ptx::wait_for_previous_kernel();
  Decode decode(params, ptx::dynamic_shared(), ptx::static_shared<typename Decode::Plan>());
  decode.run();
}

}  // namespace qrow
