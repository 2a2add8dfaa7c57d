// The device side of partition.cuh: which segments a block computes, found from the lengths on the
// device.
//
// Every warp does it alone with shuffles, so no shared memory and no barrier are needed.
#pragma once

#include "templates/common/params.cuh"
#include "templates/common/partition.cuh"
#include "templates/common/ptx.cuh"

namespace qrow {

// A contiguous run of KV steps of one unit, computed by one block.
struct Segment {
  int request;
  int head_tile;   // kv_head * column_tiles + column_tile
  int kv_len;      // 0 where the request is longer than the host's bound
  bool too_long;   // then: rows become NaN
  int num_steps;   // of the unit, >= 1
  int first_step;  // of this segment
  int end_step;

  __device__ bool starts_unit() const { return first_step == 0; }
  __device__ bool ends_unit() const { return end_step == num_steps; }
  __device__ bool complete() const { return starts_unit() && ends_unit(); }
};

// The segments of one block, in order. kStepTokens is the grain of the partition.
template <int kStepTokens>
class BlockSchedule {
 public:
  __device__ explicit BlockSchedule(const DecodeParams& params)
      : params_(params), heads_(params.num_kv_heads * params.column_tiles) {
    if (params.splits > 0) {
      start_forced();
    } else {
      start_shares();
    }
  }

  __device__ bool done() const { return steps_left_ <= 0; }
  __device__ const Segment& segment() const { return segment_; }

  __device__ void advance() {
    steps_left_ -= segment_.end_step - segment_.first_step;
    if (params_.splits > 0) steps_left_ = 0;
    if (done()) return;
    if (++segment_.head_tile == heads_) {
      segment_.head_tile = 0;
      ++segment_.request;
      load_request(next_len_);
    }
    segment_.first_step = 0;
    segment_.end_step = min<long long>(segment_.num_steps, steps_left_);
  }

  // The partial that this block leaves for the current segment. REQUIRES: the unit is shared.
  __device__ long long partial_slot() const {
    return static_cast<long long>(blockIdx.x) * 2 + (segment_.starts_unit() && piece_ == 0 ? 1 : 0);
  }
  __device__ bool writes_output() const {
    return params_.splits > 0 ? params_.splits == 1 : segment_.complete();
  }

  // Tells combine about the units that this block began; one thread calls it, once a segment.
  __device__ void write_merge_record() const {
    int index = static_cast<int>(blockIdx.x);
    int parts =
        segment_.starts_unit() ? (segment_.complete() ? 1 : last_block_of_unit() - index + 1) : 0;
    if (params_.splits > 0) {
      if (piece_ > 0) return;
      index /= params_.splits;
      parts = params_.splits;
    } else if (static_cast<long long>(params_.batch) * heads_ < params_.num_blocks) {
      if (parts == 0) return;
      index = segment_.request * heads_ + segment_.head_tile;
    } else if (!is_last()) {
      return;
    }
    ptx::store_cg(
        reinterpret_cast<int4*>(params_.merge_records) + index,
        make_int4(static_cast<int>(blockIdx.x), segment_.request, segment_.head_tile, parts));
  }

 private:
  template <typename T>
  __device__ static T min(T a, T b) {
    return a < b ? a : b;
  }

  __device__ bool is_last() const { return steps_left_ == segment_.end_step - segment_.first_step; }

  __device__ static int steps_of(int kv_len, int max_kv_len) {
    if (kv_len <= 0 || kv_len > max_kv_len) return 1;
    return (kv_len - 1) / kStepTokens + 1;
  }

  // The next request's length is asked for one request ahead: its latency hides behind this one's
  // work.
  __device__ void load_request(int len) {
    next_len_ = segment_.request + 1 < params_.batch ? params_.kv_lens[segment_.request + 1] : 0;
    segment_.too_long = len > params_.max_kv_len;
    segment_.kv_len = segment_.too_long || len < 0 ? 0 : len;
    segment_.num_steps = steps_of(len, params_.max_kv_len);
  }

  __device__ void start_forced() {
    const int unit = static_cast<int>(blockIdx.x) / params_.splits;
    piece_ = static_cast<int>(blockIdx.x) % params_.splits;
    segment_.request = unit / heads_;
    segment_.head_tile = unit % heads_;
    load_request(params_.kv_lens[segment_.request]);
    const long long steps = segment_.num_steps;
    segment_.first_step = static_cast<int>(steps * piece_ / params_.splits);
    segment_.end_step = static_cast<int>(steps * (piece_ + 1) / params_.splits);
    steps_left_ = 1;  // exactly one segment, even an empty one
  }

  __device__ void start_shares() {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    long long sum = 0;
    for (int b = lane; b < params_.batch; b += 32)
      sum += steps_of(params_.kv_lens[b], params_.max_kv_len);
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    total_ = sum * heads_;
    blocks_ = min<long long>(params_.num_blocks, total_);
    const long long block = blockIdx.x;
    if (block >= blocks_) return;
    const long long first = block * total_ / blocks_;
    steps_left_ = (block + 1) * total_ / blocks_ - first;
    find_request(first);
  }

  // Sets the segment that holds step `first` of all steps.
  __device__ void find_request(long long first) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    long long base = 0;  // steps of the requests before this chunk of 32, one head
    for (int chunk = 0;; chunk += 32) {
      const int b = chunk + lane;
      const int steps = b < params_.batch ? steps_of(params_.kv_lens[b], params_.max_kv_len) : 0;
      long long end = steps;
      for (int offset = 1; offset < 32; offset <<= 1) {
        const long long before = __shfl_up_sync(~0u, end, offset);
        if (lane >= offset) end += before;
      }
      end += base;
      const unsigned holds = __ballot_sync(~0u, first < end * heads_);
      if (holds == 0) {
        base = __shfl_sync(~0u, end, 31);
        continue;
      }
      const int found = __ffs(static_cast<int>(holds)) - 1;
      const long long begin = __shfl_sync(~0u, end - steps, found);
      segment_.request = chunk + found;
      load_request(params_.kv_lens[segment_.request]);
      const long long inside = first - begin * heads_;
      segment_.head_tile = static_cast<int>(inside / segment_.num_steps);
      segment_.first_step = static_cast<int>(inside % segment_.num_steps);
      segment_.end_step =
          static_cast<int>(min<long long>(segment_.num_steps, segment_.first_step + steps_left_));
      return;
    }
  }

  __device__ int last_block_of_unit() const {
    const long long block = blockIdx.x;
    const long long end_of_share = (block + 1) * total_ / blocks_;
    const long long unit_end = end_of_share + (segment_.num_steps - segment_.end_step);
    return static_cast<int>((unit_end * blocks_ + total_ - 1) / total_) - 1;
  }

  const DecodeParams& params_;
  const int heads_;
  Segment segment_{};
  long long total_ = 0;       // steps of the call
  long long blocks_ = 0;      // blocks that have work: at least one step each
  long long steps_left_ = 0;  // of this block, the current segment included
  int piece_ = 0;             // of a forced split
  int next_len_ = 0;
};

}  // namespace qrow
