// Broken kernels and their repaired twins: what lanes and warps do together.
#include <doctest/doctest.h>

#include "tests/emulator/little_kernels.hpp"

namespace qrow {
namespace {

using emulator::FaultKind;

const LittleKernels& kernels() {
  static const LittleKernels all("warp_faults", R"(
template <bool kMended>
__device__ void lane_has_ended(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t % 32 == 7 && !kMended) return;
  p.words[t] = __shfl_xor_sync(~0u, t, 1);  // [lane_has_ended]
}
BOTH(lane_has_ended)

// In turn, lane 0 has ended before the others come.
template <bool kMended>
__device__ void first_lane_has_ended(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t % 32 == 0 && !kMended) return;
  p.words[t] = __shfl_xor_sync(~0u, t, 1);  // [first_lane_has_ended]
}
BOTH(first_lane_has_ended)

// The others name those alone that are left.
template <bool kMended>
__device__ void lane_ends_later(const Params& p) {
  const unsigned t = threadIdx.x, lane = t % 32;
  if (lane < 16) {
    p.words[t] = __ballot_sync(kMended ? 0xffffu : ~0u, true);  // [lane_ends_later]
  } else {
    p.words[t] = 0;
  }
}
BOTH(lane_ends_later)

template <bool kMended>
__device__ void lane_at_barrier(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t % 32 == 7 && !kMended) __syncthreads();  // [lane_at_barrier: barrier]
  p.words[t] = __shfl_xor_sync(~0u, t, 1);       // [lane_at_barrier: shuffle]
  if (t % 32 != 7 || kMended) __syncthreads();
}
BOTH(lane_at_barrier)

template <bool kMended>
__device__ void mask_without_caller(const Params& p) {
  const unsigned t = threadIdx.x, lane = t % 32;
  const unsigned mask = kMended ? ~0u : ~1u;
  p.words[t] = __any_sync(mask, lane == 3);  // [mask_without_caller]
}
BOTH(mask_without_caller)

template <bool kMended>
__device__ void masks_differ(const Params& p) {
  const unsigned t = threadIdx.x, lane = t % 32;
  const unsigned mask = kMended ? (lane < 16 ? 0xffffu : 0xffff0000u) : lane < 16 ? ~0u : ~1u;
  p.words[t] = __all_sync(mask, true);  // [masks_differ]
}
BOTH(masks_differ)

template <bool kMended>
__device__ void operations_differ(const Params& p) {
  const unsigned t = threadIdx.x;
  if (kMended || t % 2 == 0) {
    p.words[t] = __shfl_xor_sync(~0u, t, 1);  // [operations_differ: shuffle]
  } else {
    p.words[t] = __ballot_sync(~0u, true);  // [operations_differ: ballot]
  }
}
BOTH(operations_differ)

template <bool kMended>
__device__ void aligned_apart(const Params& p) {
  const unsigned t = threadIdx.x;
  unsigned r = t;
  if (kMended || t % 2 == 0) {
    r = ptx::movmatrix_trans(r);  // [aligned_apart: even]
    p.words[t] = r;
  } else {
    r = ptx::movmatrix_trans(r + 1);  // [aligned_apart: odd]
    p.words[t + 64] = r;
  }
}
BOTH(aligned_apart)

// Shuffles may meet from different places: they are no aligned instructions.
__device__ void shuffles_apart(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t % 2 == 0) {
    p.words[t] = __shfl_xor_sync(~0u, t, 1);
  } else {
    p.words[t] = __shfl_xor_sync(~0u, t + 7, 1);
  }
}
ONE(shuffles_apart)

template <bool kMended>
__device__ void aligned_part(const Params& p) {
  const unsigned t = threadIdx.x;
  float c[4] = {};
  const unsigned a[4] = {1, 2, 3, 4};
  if (kMended || t % 32 < 16) ptx::mma_16x8x16<qrow::DType::bf16>(c, a, 1, 2);  // [aligned_part]
  p.words[t] = static_cast<unsigned>(c[0]);
}
BOTH(aligned_part)

template <bool kMended>
__device__ void shuffle_from_outside(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t % 32 >= 16) return;
  p.words[t] = __shfl_xor_sync(0xffff, t, kMended ? 8 : 16);  // [shuffle_from_outside]
}
BOTH(shuffle_from_outside)

template <bool kMended>
__device__ void barrier_in_a_branch(const Params& p) {
  const unsigned t = threadIdx.x;
  if (kMended || t != 5) __syncthreads();  // [barrier_in_a_branch]
  if (t == 5 || kMended) ptx::named_barrier(1, 64);  // [barrier_in_a_branch: other]
  p.words[t] = t;
}
BOTH(barrier_in_a_branch)

// Lanes of one warp at two barriers in the text: one instruction is meant.
template <bool kMended>
__device__ void barriers_apart(const Params& p) {
  const unsigned t = threadIdx.x;
  if (kMended ? t < 32 : t % 2 == 0) {
    p.words[t] = 1;
    __syncthreads();  // [barriers_apart: even]
  } else {
    p.words[t] = 2;
    __syncthreads();  // [barriers_apart: odd]
  }
}
BOTH(barriers_apart)

template <bool kMended>
__device__ void counts_differ(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t < 32) {
    ptx::named_barrier(2, 64);  // [counts_differ: 64]
  } else {
    ptx::named_barrier(2, kMended ? 64 : 96);  // [counts_differ: 96]
  }
  p.words[t] = t;
}
BOTH(counts_differ)

template <bool kMended>
__device__ void barrier_of_no_whole_warps(const Params& p) {
  ptx::named_barrier(2, kMended ? 64 : 48);  // [no_whole_warps]
  p.words[threadIdx.x] = 1;
}
BOTH(barrier_of_no_whole_warps)

template <bool kMended>
__device__ void barrier_sixteen(const Params& p) {
  ptx::named_barrier(kMended ? 15 : 16, 64);  // [barrier_sixteen]
  p.words[threadIdx.x] = 1;
}
BOTH(barrier_sixteen)

template <bool kMended>
__device__ void too_few_come(const Params& p) {
  if (kMended || threadIdx.x < 32) ptx::named_barrier(2, 64);  // [too_few_come]
  p.words[threadIdx.x] = 1;
}
BOTH(too_few_come)

// Warps that have ended are not waited for.
__device__ void barrier_of_the_living(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t >= 32) return;
  unsigned* const shared = reinterpret_cast<unsigned*>(ptx::dynamic_shared());
  shared[t] = t;
  __syncthreads();
  p.words[t] = shared[31 - t];
}
ONE(barrier_of_the_living)
)");
  return all;
}

const LittleLaunch kTwoWarps;

void check(const char* kernel, FaultKind kind, const std::vector<std::string>& marks,
           const std::vector<std::string>& words = {}) {
  check_bites(kernels(), kernel, kTwoWarps, {kind, marks, words});
}

}  // namespace

TEST_CASE("a lane that a mask names must come, and not have ended") {
  if (skips_faults()) return;
  check("lane_has_ended", FaultKind::missing_lane, {"[lane_has_ended]"}, {"lane 7 ", "0xffffffff"});
  check("first_lane_has_ended", FaultKind::missing_lane, {"[first_lane_has_ended]"}, {"lane 0 "});
  check("lane_ends_later", FaultKind::missing_lane, {"[lane_ends_later]"}, {"0xffffffff"});
}

TEST_CASE("a lane that waits elsewhere leaves the others waiting for ever") {
  if (skips_faults()) return;
  check("lane_at_barrier", FaultKind::deadlock, {"[lane_at_barrier: shuffle]"});
  check("aligned_part", FaultKind::missing_lane, {"[aligned_part]"});
}

TEST_CASE("a mask names its caller, and is the same for all that it names") {
  if (skips_faults()) return;
  check("mask_without_caller", FaultKind::wrong_mask, {"[mask_without_caller]"},
        {"0xfffffffe", "lane 0"});
  check("masks_differ", FaultKind::wrong_mask, {"[masks_differ]"}, {"0xffffffff", "0xfffffffe"});
}

TEST_CASE("lanes of one operation are at one operation, an aligned one at one instruction") {
  if (skips_faults()) return;
  check("operations_differ", FaultKind::divergent,
        {"[operations_differ: shuffle]", "[operations_differ: ballot]"});
  check("aligned_apart", FaultKind::divergent, {"[aligned_apart: even]", "[aligned_apart: odd]"});
  check_clean(kernels(), "shuffles_apart", kTwoWarps);
}

TEST_CASE("a shuffle must not read from a lane outside its mask") {
  if (skips_faults()) return;
  check("shuffle_from_outside", FaultKind::wrong_mask, {"[shuffle_from_outside]"}, {"0xffff"});
}

TEST_CASE("a barrier that not all threads reach is a deadlock") {
  if (skips_faults()) return;
  check("barrier_in_a_branch", FaultKind::deadlock, {"[barrier_in_a_branch]"}, {"__syncthreads"});
  check("too_few_come", FaultKind::deadlock, {"[too_few_come]"}, {"named barrier"});
  check_clean(kernels(), "barrier_of_the_living", kTwoWarps);
}

TEST_CASE("lanes of a warp come to one __syncthreads, not to two") {
  if (skips_faults()) return;
  check("barriers_apart", FaultKind::divergent,
        {"[barriers_apart: even]", "[barriers_apart: odd]"});
}

TEST_CASE("a named barrier has one count, of whole warps, and one of fifteen numbers") {
  if (skips_faults()) return;
  check("counts_differ", FaultKind::wrong_barrier, {"[counts_differ: 64]", "[counts_differ: 96]"},
        {"barrier 2"});
  check("barrier_of_no_whole_warps", FaultKind::wrong_barrier, {"[no_whole_warps]"});
  check("barrier_sixteen", FaultKind::wrong_barrier, {"[barrier_sixteen]"}, {"barrier 16"});
}

}  // namespace qrow
