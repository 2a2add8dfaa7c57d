// The tiles of one ring during a segment, loaded num_stages - 1 ahead of their use.
#pragma once

#include "templates/common/paged_kv.cuh"
#include "templates/common/schedule.cuh"
#include "templates/decode_mma/config.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning>
class TileStream {
  static constexpr int kStages = kTuning.num_stages;
  static constexpr int kStageBytes = 2 * tile_bytes(kSpec, kTuning);
  static constexpr int kStepTokens = step_tokens(kTuning);
  static constexpr int kRows = kTuning.tile_tokens / kTuning.row_groups;

 public:
  // `ring` is the ring's shared memory; this warp loads the rows of `group`.
  __device__ TileStream(const DecodeParams& params, unsigned smem, int ring, int group)
      : params_(params),
        smem_(smem + ring * (kStages * kStageBytes)),
        offset_(ring * kTuning.tile_tokens),
        loader_(params, group * kRows) {}

  // Turns to a segment and starts its first loads. REQUIRES: the ring is drained.
  __device__ void begin(const Segment& segment) {
    loader_.bind(segment.request, segment.head_tile / params_.column_tiles, segment.kv_len);
    token_ = segment.first_step * kStepTokens + offset_;
    end_token_ = segment.end_step * kStepTokens;
    load_slot_ = use_slot_ = 0;
    if (token_ < end_token_) loader_.prefetch(token_);
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) load();
  }

  // Starts the copies of the next tile, if there is one, and asks for the page ids of the one
  // after. A group is committed in any case, so that waiting by count stays right.
  __device__ void load() {
    if (token_ < end_token_) {
      loader_.load(token_, smem_ + load_slot_ * kStageBytes);
      load_slot_ = next(load_slot_);
      token_ += kStepTokens;
      if (token_ < end_token_) loader_.prefetch(token_);
    }
    ptx::cp_async_commit();
  }

  // Waits until this warp's copies of the oldest tile have landed.
  __device__ static void wait() { ptx::cp_async_wait<kStages - 2>(); }

  // Shared memory of the oldest tile, which is used from now on: the tile before it gives its room.
  __device__ unsigned use() {
    const unsigned smem = smem_ + use_slot_ * kStageBytes;
    use_slot_ = next(use_slot_);
    return smem;
  }

 private:
  __device__ static int next(int slot) { return slot + 1 == kStages ? 0 : slot + 1; }

  const DecodeParams& params_;
  const unsigned smem_;
  const int offset_;  // of this ring's tile in a step
  PagedKvLoader<kv_row_bytes(kSpec), kSpec.page_size, kTuning.tile_tokens, kRows> loader_;
  int token_;  // first of the next tile to load
  int end_token_;
  int load_slot_;
  int use_slot_;
};

}  // namespace qrow
