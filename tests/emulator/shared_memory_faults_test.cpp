// Broken kernels and their repaired twins: races, copies in flight, memory that nobody wrote.
#include <doctest/doctest.h>

#include "tests/emulator/little_kernels.hpp"

namespace qrow {
namespace {

using emulator::FaultKind;

const LittleKernels& kernels() {
  static const LittleKernels all("shared_memory_faults", R"(
__device__ unsigned* shared() { return reinterpret_cast<unsigned*>(ptx::dynamic_shared()); }
__device__ unsigned shared_at(unsigned word) { return ptx::smem_address(shared() + word); }

template <bool kMended>
__device__ void write_read(const Params& p) {
  const unsigned t = threadIdx.x;
  shared()[t] = t;  // [write_read: write]
  if (kMended) __syncthreads();
  p.words[t] = shared()[(t + 32) % 64];  // [write_read: read]
}
BOTH(write_read)

template <bool kMended>
__device__ void write_write(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t < 32) shared()[t] = 1;  // [write_write: first]
  if (kMended) ptx::named_barrier(3, 64);
  if (t >= 32) shared()[t - 32] = 2;  // [write_write: second]
}
BOTH(write_write)

template <bool kMended>
__device__ void read_write(const Params& p) {
  const unsigned t = threadIdx.x;
  shared()[t] = t;
  __syncthreads();
  if (t < 32) p.words[t] = shared()[t + 32];  // [read_write: read]
  if (kMended) __syncthreads();
  if (t >= 32) shared()[t] = 7;  // [read_write: write]
}
BOTH(read_write)

// More readers than are remembered in place; the warp that races is among the others.
template <bool kMended>
__device__ void many_readers(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t == 0) shared()[0] = 5;
  __syncthreads();
  p.words[t] = shared()[0];  // [many_readers: read]
  const bool meets = kMended || t / 32 != 1;
  if (meets) ptx::named_barrier(1, kMended ? 128 : 96);
  if (t == 127) shared()[0] = 6;  // [many_readers: write]
}
BOTH(many_readers)

template <bool kMended>
__device__ void inside_a_warp(const Params& p) {
  const unsigned t = threadIdx.x;
  shared()[t] = t;  // [inside_a_warp: write]
  if (kMended) __syncwarp();
  p.words[t] = shared()[t ^ 1];  // [inside_a_warp: read]
}
BOTH(inside_a_warp)

// A shuffle brings the lanes together but orders no memory.
template <bool kMended>
__device__ void after_a_shuffle(const Params& p) {
  const unsigned t = threadIdx.x;
  shared()[t] = t;  // [after_a_shuffle: write]
  const unsigned other = __shfl_xor_sync(~0u, t, 1);
  if (kMended) __syncwarp();
  p.words[t] = shared()[other];  // [after_a_shuffle: read]
}
BOTH(after_a_shuffle)

// The write comes after the read in any schedule, but nothing orders them.
template <bool kMended>
__device__ void write_after_a_shuffle(const Params& p) {
  const unsigned t = threadIdx.x;
  shared()[t] = t;
  __syncwarp();
  const unsigned other = shared()[t ^ 1];  // [write_after_a_shuffle: read]
  p.words[t] = __shfl_xor_sync(~0u, other, 1);
  if (kMended) __syncwarp();
  shared()[t] = 0;  // [write_after_a_shuffle: write]
}
BOTH(write_after_a_shuffle)

// Each barrier of half a warp orders its half alone.
template <bool kMended>
__device__ void halves_of_a_warp(const Params& p) {
  const unsigned t = threadIdx.x, half = t % 32 / 16;
  shared()[t] = t;  // [halves_of_a_warp: write]
  __syncwarp(0xffffu << 16 * half);
  p.words[t] = shared()[t ^ (kMended ? 15 : 31)];  // [halves_of_a_warp: read]
}
BOTH(halves_of_a_warp)

// One half of a word each.
template <bool kMended>
__device__ void parts_of_a_word(const Params& p) {
  const unsigned t = threadIdx.x;
  unsigned short* const halves = reinterpret_cast<unsigned short*>(shared());
  halves[t] = t;
  __syncthreads();
  halves[t] = t + 1;  // [parts_of_a_word: write]
  p.words[t] = halves[kMended ? t : t ^ 1];  // [parts_of_a_word: read]
  __syncthreads();
  p.words[t] = shared()[t / 2];
}
BOTH(parts_of_a_word)

// Warp 0 fills a slot, warp 1 reads it, three times.
template <bool kMended>
__device__ void ring(const Params& p) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned i = 0; i < 3; ++i) {
    if (warp == 0) {
      ptx::cp_async_16(shared_at(4 * lane), p.words + 128 * i + 4 * lane);  // [ring: fill]
      ptx::cp_async_commit();
      ptx::cp_async_wait<0>();
    }
    ptx::named_barrier(1, 64);
    if (warp == 1) p.words[1024 + 32 * i + lane] = shared()[127 - lane];  // [ring: read]
    if (kMended) ptx::named_barrier(2, 64);
  }
}
BOTH(ring)

template <bool kMended>
__device__ void missing_wait(const Params& p) {
  const unsigned t = threadIdx.x;
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [missing_wait: copy]
  ptx::cp_async_commit();
  if (kMended) ptx::cp_async_wait<0>();
  __syncthreads();
  p.words[t] = shared()[4 * (63 - t)];  // [missing_wait: read]
}
BOTH(missing_wait)

template <bool kMended>
__device__ void wait_off_by_one(const Params& p) {
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 3; ++i) {
    ptx::cp_async_16(shared_at(256 * i + 4 * t), p.words + 256 * i + 4 * t);  // [off_by_one: copy]
    ptx::cp_async_commit();
  }
  ptx::cp_async_wait<kMended ? 1 : 2>();
  __syncthreads();
  p.words[t] = shared()[256 + 4 * (63 - t)];  // [off_by_one: read]
}
BOTH(wait_off_by_one)

// Without a commit the copy belongs to no group, so no wait is for it.
template <bool kMended>
__device__ void missing_commit(const Params& p) {
  const unsigned t = threadIdx.x;
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [missing_commit: copy]
  if (kMended) ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  p.words[t] = shared()[4 * t];  // [missing_commit: read]
}
BOTH(missing_commit)

// The wait is for the thread's own copies: the others need a barrier after it.
template <bool kMended>
__device__ void wait_after_barrier(const Params& p) {
  const unsigned t = threadIdx.x;
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [wait_after_barrier: copy]
  ptx::cp_async_commit();
  if (kMended) ptx::cp_async_wait<0>();
  __syncthreads();
  if (!kMended) ptx::cp_async_wait<0>();
  p.words[t] = shared()[4 * (63 - t)];  // [wait_after_barrier: read]
}
BOTH(wait_after_barrier)

template <bool kMended>
__device__ void write_in_flight(const Params& p) {
  const unsigned t = threadIdx.x;
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [write_in_flight: copy]
  ptx::cp_async_commit();
  if (kMended) ptx::cp_async_wait<0>();
  shared()[4 * t + 2] = 0;  // [write_in_flight: write]
}
BOTH(write_in_flight)

template <bool kMended>
__device__ void copy_in_flight(const Params& p) {
  const unsigned t = threadIdx.x;
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [copy_in_flight: first]
  ptx::cp_async_commit();
  if (kMended) ptx::cp_async_wait<0>();
  ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [copy_in_flight: second]
}
BOTH(copy_in_flight)

// A copy that its thread never waits for may land after the thread's end.
template <bool kMended>
__device__ void copy_of_an_ended_thread(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t < 32) {
    ptx::cp_async_16(shared_at(4 * t), p.words + 4 * t);  // [ended: copy]
    ptx::cp_async_commit();
    if (!kMended) return;
    ptx::cp_async_wait<0>();
  }
  __syncthreads();
  if (t >= 32) p.words[t] = shared()[4 * (t - 32)];  // [ended: read]
}
BOTH(copy_of_an_ended_thread)

template <bool kMended>
__device__ void uninitialised(const Params& p) {
  const unsigned t = threadIdx.x;
  if (kMended || t != 5) shared()[t] = t;
  __syncthreads();
  p.words[t] = shared()[(t + 1) % 64];  // [uninitialised: read]
}
BOTH(uninitialised)

// The last rows of a tile that is not full, read as a matrix.
template <bool kMended>
__device__ void uninitialised_matrix(const Params& p) {
  const unsigned t = threadIdx.x;
  if (t < (kMended ? 32 : 31)) ptx::store_shared(shared_at(4 * t), make_uint4(t, t, t, t));
  __syncthreads();
  if (t >= 32) return;
  unsigned r[4];
  ptx::ldmatrix_x4(r, shared_at(4 * t));  // [uninitialised_matrix: read]
  p.words[t] = r[0] + r[1] + r[2] + r[3];
}
BOTH(uninitialised_matrix)

struct Statistics {
  float sum[64];
};
template <bool kMended>
__device__ void static_race(const Params& p) {
  const unsigned t = threadIdx.x;
  Statistics& statistics = ptx::static_shared<Statistics>();
  statistics.sum[t] = 1;  // [static_race: write]
  if (kMended) __syncthreads();
  p.words[t] = static_cast<unsigned>(statistics.sum[(t + 32) % 64]);  // [static_race: read]
}
BOTH(static_race)
)");
  return all;
}

const LittleLaunch kTwoWarps;

}  // namespace

TEST_CASE("a read of what another warp writes without a barrier is a race, with both lines") {
  if (skips_faults()) return;
  check_bites(kernels(), "write_read", kTwoWarps,
              {FaultKind::race,
               {"[write_read: write]", "[write_read: read]"},
               {"block 0, thread", "wrote"},
               {FaultKind::uninitialised}});
  check_bites(kernels(), "static_race", kTwoWarps,
              {FaultKind::race,
               {"[static_race: write]", "[static_race: read]"},
               {},
               {FaultKind::uninitialised}});
}

TEST_CASE("two writes without a barrier are a race, with both lines") {
  if (skips_faults()) return;
  check_bites(kernels(), "write_write", kTwoWarps,
              {FaultKind::race, {"[write_write: first]", "[write_write: second]"}, {"wrote"}});
}

TEST_CASE("a write over what another warp still reads is a race, with both lines") {
  if (skips_faults()) return;
  check_bites(kernels(), "read_write", kTwoWarps,
              {FaultKind::race, {"[read_write: read]", "[read_write: write]"}, {}});
}

TEST_CASE("one of a hundred readers that no barrier orders is found") {
  if (skips_faults()) return;
  LittleLaunch launch;
  launch.threads = 128;
  check_bites(kernels(), "many_readers", launch,
              {FaultKind::race, {"[many_readers: read]", "[many_readers: write]"}, {}});
}

TEST_CASE("lanes of a warp race without __syncwarp, whatever else brings them together") {
  if (skips_faults()) return;
  check_bites(kernels(), "inside_a_warp", kTwoWarps,
              {FaultKind::race,
               {"[inside_a_warp: write]", "[inside_a_warp: read]"},
               {},
               {FaultKind::uninitialised}});
  check_bites(kernels(), "after_a_shuffle", kTwoWarps,
              {FaultKind::race, {"[after_a_shuffle: write]", "[after_a_shuffle: read]"}, {}});
  check_bites(kernels(), "write_after_a_shuffle", kTwoWarps,
              {FaultKind::race,
               {"[write_after_a_shuffle: write]", "[write_after_a_shuffle: read]"},
               {" read it at"}});
  check_bites(kernels(), "halves_of_a_warp", kTwoWarps,
              {FaultKind::race,
               {"[halves_of_a_warp: write]", "[halves_of_a_warp: read]"},
               {},
               {FaultKind::uninitialised}});
}

TEST_CASE("halves of one word race apart") {
  if (skips_faults()) return;
  check_bites(kernels(), "parts_of_a_word", kTwoWarps,
              {FaultKind::race, {"[parts_of_a_word: write]", "[parts_of_a_word: read]"}, {}});
}

TEST_CASE("a ring's slot refilled while another warp reads it is found") {
  if (skips_faults()) return;
  check_bites(kernels(), "ring", kTwoWarps,
              {FaultKind::race, {"[ring: fill]", "[ring: read]"}, {}, {FaultKind::in_flight}});
}

TEST_CASE("a copy's target must not be touched before the wait for it") {
  if (skips_faults()) return;
  const auto in_flight = [](const char* copy, const char* access) {
    // The copies of threads that have ended land, which orders nothing.
    return Expected{
        FaultKind::in_flight, {copy, access}, {"copies asynchronously"}, {FaultKind::race}};
  };
  check_bites(kernels(), "missing_wait", kTwoWarps,
              in_flight("[missing_wait: copy]", "[missing_wait: read]"));
  check_bites(kernels(), "wait_off_by_one", kTwoWarps,
              in_flight("[off_by_one: copy]", "[off_by_one: read]"));
  check_bites(kernels(), "missing_commit", kTwoWarps,
              in_flight("[missing_commit: copy]", "[missing_commit: read]"));
  check_bites(kernels(), "write_in_flight", kTwoWarps,
              in_flight("[write_in_flight: copy]", "[write_in_flight: write]"));
  check_bites(kernels(), "copy_in_flight", kTwoWarps,
              in_flight("[copy_in_flight: first]", "[copy_in_flight: second]"));
}

TEST_CASE("a thread's wait for its copies tells the others nothing without a barrier after it") {
  if (skips_faults()) return;
  check_bites(kernels(), "wait_after_barrier", kTwoWarps,
              {FaultKind::race,
               {"[wait_after_barrier: copy]", "[wait_after_barrier: read]"},
               {},
               {FaultKind::in_flight}});
  check_bites(kernels(), "copy_of_an_ended_thread", kTwoWarps,
              {FaultKind::race, {"[ended: copy]", "[ended: read]"}, {}, {FaultKind::in_flight}});
}

TEST_CASE("a report names the seed, which brings the same report again") {
  if (skips_faults()) return;
  for (const LittleLaunch& schedule : schedules(kTwoWarps, 3)) {
    const std::string text = kernels().run("missing_wait_broken", schedule).text();
    CHECK(text.find("seed " + std::to_string(schedule.seed) + ",") != std::string::npos);
    CHECK(kernels().run("missing_wait_broken", schedule).text() == text);
  }
  LittleLaunch other = kTwoWarps;
  other.seed = 3;
  CHECK(kernels().run("write_read_broken", other).text() !=
        kernels().run("write_read_broken", kTwoWarps).text());
}

TEST_CASE("a read of shared memory that nobody wrote is found") {
  if (skips_faults()) return;
  check_bites(kernels(), "uninitialised", kTwoWarps,
              {FaultKind::uninitialised, {"[uninitialised: read]"}, {"thread 4 "}});
  check_bites(kernels(), "uninitialised_matrix", kTwoWarps,
              {FaultKind::uninitialised, {"[uninitialised_matrix: read]"}, {"thread 31 "}});
}

}  // namespace qrow
