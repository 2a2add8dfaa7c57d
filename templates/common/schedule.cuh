// The device side of partition.cuh: which segments a block computes, found from the lengths on the
// device by one warp, with shuffles.
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

// The segments of one block, in order. Constructed by a whole warp; after that any one thread may
// use it. kStepTokens is the grain of the partition.
template <int kStepTokens>
class BlockSchedule {
 public:
  __device__ explicit BlockSchedule(const DecodeParams& params)
      : heads_(params.num_kv_heads * params.column_tiles),
        lane_(static_cast<int>(blockIdx.x) % params.heads_abreast) {
    if (params.splits > 0) {
      start_forced(params);
    } else {
      start_shares(params);
    }
  }

  __device__ bool done() const { return steps_left_ <= 0; }
  // Meaningless when done.
  __device__ const Segment& segment() const { return segment_; }

  __device__ void advance(const DecodeParams& params) {
    steps_left_ -= params.splits > 0 ? 1 : segment_.end_step - segment_.first_step;
    if (done()) return;
    segment_.head_tile += params.heads_abreast;
    if (segment_.head_tile >= heads_) {
      segment_.head_tile = lane_;
      ++segment_.request;
      load_request(params, next_len_);
    }
    segment_.first_step = 0;
    segment_.end_step = static_cast<int>(min_of(segment_.num_steps, steps_left_));
  }

  // Is a segment of this block a whole unit, whose result goes to the output?
  __device__ bool writes_output(const DecodeParams& params, const Segment& segment) const {
    return params.splits > 0 ? params.splits == 1 : segment.complete();
  }
  // The partial that this block leaves for a segment. REQUIRES: not writes_output.
  __device__ long long partial_slot(const Segment& segment) const {
    const bool begins = segment.starts_unit() && piece_ == 0;
    return static_cast<long long>(blockIdx.x) * 2 + (begins ? 1 : 0);
  }

  // Tells combine about the units that this block begins; called once for each segment.
  __device__ void write_merge_record(const DecodeParams& params) const {
    int index = static_cast<int>(blockIdx.x);
    int parts = params.splits;
    if (params.splits > 0) {
      if (piece_ > 0) return;
      index /= params.splits;
    } else {
      parts = segment_.starts_unit() ? (segment_.complete() ? 1 : parts_of_unit(params)) : 0;
      if (static_cast<long long>(params.batch) * heads_ < params.num_blocks) {
        if (parts == 0) return;
        index = segment_.request * heads_ + segment_.head_tile;
      } else if (!is_last()) {
        return;
      }
    }
    ptx::store_cg(
        reinterpret_cast<int4*>(params.merge_records) + index,
        make_int4(static_cast<int>(blockIdx.x), segment_.request, segment_.head_tile, parts));
  }

 private:
  __device__ static long long min_of(long long a, long long b) { return a < b ? a : b; }

  __device__ bool is_last() const { return steps_left_ == segment_.end_step - segment_.first_step; }

  __device__ static int steps_of(int kv_len, int max_kv_len) {
    if (kv_len <= 0 || kv_len > max_kv_len) return 1;
    return (kv_len - 1) / kStepTokens + 1;
  }

  // The next request's length is asked for one request ahead: its latency hides behind this one's
  // work.
  __device__ void load_request(const DecodeParams& params, int len) {
    next_len_ = segment_.request + 1 < params.batch ? params.kv_lens[segment_.request + 1] : 0;
    segment_.too_long = len > params.max_kv_len;
    segment_.kv_len = segment_.too_long || len < 0 ? 0 : len;
    segment_.num_steps = steps_of(len, params.max_kv_len);
  }

  __device__ void start_forced(const DecodeParams& params) {
    const int unit = static_cast<int>(blockIdx.x) / params.splits;
    piece_ = static_cast<int>(blockIdx.x) % params.splits;
    segment_.request = unit / heads_;
    segment_.head_tile = unit % heads_;
    load_request(params, params.kv_lens[segment_.request]);
    const long long steps = segment_.num_steps;
    segment_.first_step = static_cast<int>(steps * piece_ / params.splits);
    segment_.end_step = static_cast<int>(steps * (piece_ + 1) / params.splits);
    steps_left_ = 1;  // exactly one segment, even an empty one
  }

  __device__ void start_shares(const DecodeParams& params) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    long long sum = 0;
    for (int b = lane; b < params.batch; b += 32) {
      sum += steps_of(params.kv_lens[b], params.max_kv_len);
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    total_ = sum * (heads_ / params.heads_abreast);
    shares_ = min_of(params.num_blocks / params.heads_abreast, total_);
    const long long share = group_of(params);
    if (share >= shares_) return;
    const long long first = share_begin(share);
    steps_left_ = share_begin(share + 1) - first;
    find(params, first);
  }

  __device__ static int group_of(const DecodeParams& params) {
    return static_cast<int>(blockIdx.x) / params.heads_abreast;
  }
  __device__ long long share_begin(long long share) const {
    return divided(share * total_, shares_);
  }

  // 64-bit division is a long routine: most operands are small.
  __device__ static long long divided(long long a, long long b) {
    if ((a | b) >> 32 == 0) return static_cast<unsigned>(a) / static_cast<unsigned>(b);
    return a / b;
  }

  // Sets the segment that holds step `first` of the steps of this block's lane.
  __device__ void find(const DecodeParams& params, long long first) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int turns = heads_ / params.heads_abreast;
    long long base = 0;  // steps of the requests before this chunk of 32, one head
    for (int chunk = 0;; chunk += 32) {
      const int b = chunk + lane;
      const int len = b < params.batch ? params.kv_lens[b] : 0;
      const int steps = b < params.batch ? steps_of(len, params.max_kv_len) : 0;
      long long end = steps;
      for (int offset = 1; offset < 32; offset <<= 1) {
        const long long before = __shfl_up_sync(~0u, end, offset);
        if (lane >= offset) end += before;
      }
      end += base;
      const unsigned holds = __ballot_sync(~0u, first < end * turns);
      if (holds == 0) {
        base = __shfl_sync(~0u, end, 31);
        continue;
      }
      const int found = __ffs(static_cast<int>(holds)) - 1;
      const long long begin = __shfl_sync(~0u, end - steps, found);
      segment_.request = chunk + found;
      load_request(params, __shfl_sync(~0u, len, found));
      const long long inside = first - begin * turns;
      const long long turn = divided(inside, segment_.num_steps);
      segment_.head_tile = static_cast<int>(turn) * params.heads_abreast + lane_;
      segment_.first_step = static_cast<int>(inside - turn * segment_.num_steps);
      segment_.end_step =
          static_cast<int>(min_of(segment_.num_steps, segment_.first_step + steps_left_));
      return;
    }
  }

  // Into how many parts the current segment's unit falls, which this block begins and does not end.
  __device__ int parts_of_unit(const DecodeParams& params) const {
    const long long share = group_of(params);
    const long long unit_end = share_begin(share + 1) + (segment_.num_steps - segment_.end_step);
    const long long last = divided(unit_end * shares_ + total_ - 1, total_) - 1;
    return static_cast<int>(last - share) + 1;
  }

  int heads_;  // units per request
  int lane_;   // of the heads abreast
  Segment segment_{};
  long long total_ = 0;       // steps of one lane
  long long shares_ = 0;      // of them, each of at least one step
  long long steps_left_ = 0;  // of this block, the current segment included
  int piece_ = 0;             // of a forced split
  int next_len_ = 0;
};

}  // namespace qrow
