// Broken kernels and their repaired twins: bounds, alignment, other blocks, the previous kernel.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/emulator/little_kernels.hpp"

namespace qrow {
namespace {

using emulator::FaultKind;
using emulator::Grid;
using emulator::Report;

// Launched with 4096 bytes of shared memory; device memory holds 4096 words.
const LittleKernels& kernels() {
  static const LittleKernels all("memory_faults", R"(
__device__ char* shared() { return ptx::dynamic_shared(); }
__device__ unsigned* shared_words() { return reinterpret_cast<unsigned*>(shared()); }

template <bool kMended>
__device__ void shared_past_the_end(const Params& p) {
  shared_words()[threadIdx.x + (kMended ? 960 : 961)] = 1;  // [shared_past_the_end]
}
BOTH(shared_past_the_end)

template <bool kMended>
__device__ void shared_before_the_start(const Params& p) {
  int i = static_cast<int>(threadIdx.x) - static_cast<int>(p.n);
  if (kMended && i < 0) i = 0;
  if (i <= 0 && threadIdx.x == 0) shared_words()[i] = 1;  // [shared_before_the_start]
}
BOTH(shared_before_the_start)

// The last row of a matrix begins inside and ends outside.
template <bool kMended>
__device__ void matrix_past_the_end(const Params& p) {
  for (unsigned i = threadIdx.x; i < 1024; i += 32) shared_words()[i] = i;
  __syncwarp();
  unsigned r[4];
  const unsigned row = 4096 - 32 * 16 + 16 * threadIdx.x + (kMended ? 0 : 16);
  ptx::ldmatrix_x4(r, ptx::smem_address(shared()) + row);  // [matrix_past_the_end]
  p.words[threadIdx.x] = r[0];
}
BOTH(matrix_past_the_end)

template <bool kMended>
__device__ void copy_past_the_end(const Params& p) {
  const unsigned to = 16 * threadIdx.x + (kMended ? 3072 : 3088);
  ptx::cp_async_16(ptx::smem_address(shared()) + to, p.words);  // [copy_past_the_end]
}
BOTH(copy_past_the_end)

template <bool kMended>
__device__ void store_past_the_end(const Params& p) {
  const unsigned to = 8 * threadIdx.x + (kMended ? 3584 : 3592);
  ptx::store_shared(ptx::smem_address(shared()) + to, make_uint2(1, 2));  // [store_past_the_end]
}
BOTH(store_past_the_end)

struct Small {
  unsigned word[64];
};
struct Other {
  unsigned word[64];
};
template <bool kMended>
__device__ void static_past_the_end(const Params& p) {
  ptx::static_shared<Other>().word[threadIdx.x] = 1;
  ptx::static_shared<Small>().word[threadIdx.x + (kMended ? 0 : p.n)] = 1;  // [static_past]
}
BOTH(static_past_the_end)

template <bool kMended>
__device__ void address_of_no_shared_memory(const Params& p) {
  void* const place = kMended ? static_cast<void*>(shared()) : p.words;
  p.words[threadIdx.x] = ptx::smem_address(place);  // [address_of]
}
BOTH(address_of_no_shared_memory)

template <bool kMended>
__device__ void global_write_past_the_end(const Params& p) {
  p.words[threadIdx.x + (kMended ? 4032 : 4033)] = 1;  // [global_write]
}
BOTH(global_write_past_the_end)

template <bool kMended>
__device__ void global_read_before_the_start(const Params& p) {
  const long long i = static_cast<long long>(threadIdx.x) - (kMended ? 0 : 1);
  p.words[threadIdx.x] = p.words[i];  // [global_read]
}
BOTH(global_read_before_the_start)

// Eight bytes inside, eight outside.
template <bool kMended>
__device__ void vector_over_the_end(const Params& p) {
  const uint4 v = ptx::load_16(p.words + (kMended ? 4092 : 4094));  // [vector]
  p.words[threadIdx.x] = v.x;
}
BOTH(vector_over_the_end)

template <bool kMended>
__device__ void copy_from_outside(const Params& p) {
  const unsigned from = 4 * threadIdx.x + (kMended ? 3840 : 3844);
  const unsigned to = ptx::smem_address(shared()) + 16 * threadIdx.x;
  ptx::cp_async_16(to, p.words + from);  // [copy_from_outside]
}
BOTH(copy_from_outside)

// A copy of zero valid bytes reads nothing, so its source may be anywhere.
template <bool kMended>
__device__ void copy_of_nothing(const Params& p) {
  const unsigned long long policy = ptx::evict_first_policy();
  const unsigned to = ptx::smem_address(shared()) + 16 * threadIdx.x;
  ptx::cp_async_16(to, p.words + 5000, kMended ? 0 : 16, policy);  // [copy_of_nothing]
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  p.words[threadIdx.x] = shared_words()[4 * threadIdx.x];
}
BOTH(copy_of_nothing)

template <bool kMended>
__device__ void atomic_outside(const Params& p) {
  atomicOr(reinterpret_cast<int*>(p.words + (kMended ? 4095 : 4096)), 1);  // [atomic_outside]
}
BOTH(atomic_outside)

template <bool kMended>
__device__ void plain_vector(const Params& p) {
  const unsigned from = 4 * threadIdx.x + (kMended ? 0 : 2);
  const float4 v = *reinterpret_cast<const float4*>(p.words + from);  // [plain_vector]
  p.words[1024 + threadIdx.x] = static_cast<unsigned>(v.x + v.w);
}
BOTH(plain_vector)

template <bool kMended>
__device__ void plain_vector_of_shared(const Params& p) {
  const unsigned at = 8 * threadIdx.x + (kMended ? 0 : 4);
  *reinterpret_cast<float2*>(shared() + at) = make_float2(1, 2);  // [plain_vector_of_shared]
}
BOTH(plain_vector_of_shared)

template <bool kMended>
__device__ void plain_word(const Params& p) {
  char* const bytes = reinterpret_cast<char*>(p.words) + 4 * threadIdx.x + (kMended ? 0 : 1);
  *reinterpret_cast<unsigned*>(bytes) = 1;  // [plain_word]
}
BOTH(plain_word)

template <bool kMended>
__device__ void loaded_vector(const Params& p) {
  const unsigned* const from = p.words + 4 * threadIdx.x + (kMended ? 0 : 1);
  const float4 v = ptx::load_cg(reinterpret_cast<const float4*>(from));  // [loaded_vector]
  p.words[1024 + threadIdx.x] = static_cast<unsigned>(v.x);
}
BOTH(loaded_vector)

template <bool kMended>
__device__ void copy_from_odd_place(const Params& p) {
  const unsigned to = ptx::smem_address(shared()) + 16 * threadIdx.x;
  ptx::cp_async_16(to, p.words + 4 * threadIdx.x + (kMended ? 0 : 1));  // [copy_from_odd_place]
}
BOTH(copy_from_odd_place)

template <bool kMended>
__device__ void copy_to_odd_place(const Params& p) {
  const unsigned to = ptx::smem_address(shared()) + 16 * threadIdx.x + (kMended ? 0 : 8);
  ptx::cp_async_16(to, p.words);  // [copy_to_odd_place]
}
BOTH(copy_to_odd_place)

template <bool kMended>
__device__ void matrix_at_odd_place(const Params& p) {
  for (unsigned i = threadIdx.x; i < 1024; i += 32) shared_words()[i] = i;
  __syncwarp();
  unsigned r[4];
  const unsigned row = 16 * threadIdx.x + (kMended || threadIdx.x != 9 ? 0 : 4);
  ptx::ldmatrix_x4(r, ptx::smem_address(shared()) + row);  // [matrix_at_odd_place]
  p.words[threadIdx.x] = r[0];
}
BOTH(matrix_at_odd_place)

template <bool kMended>
__device__ void store_at_odd_place(const Params& p) {
  const unsigned to = ptx::smem_address(shared()) + 16 * threadIdx.x + (kMended ? 0 : 4);
  ptx::store_shared(to, make_uint4(1, 2, 3, 4));  // [store_at_odd_place]
}
BOTH(store_at_odd_place)

// ---- Other blocks ----

template <bool kMended>
__device__ void both_write(const Params& p) {
  p.words[threadIdx.x + (kMended ? 64 * blockIdx.x : 0)] = blockIdx.x;  // [both_write]
}
BOTH(both_write)

template <bool kMended>
__device__ void one_writes(const Params& p) {
  if (blockIdx.x == p.n) p.words[kMended ? 1 : 0] = 1;  // [one_writes: write]
  if (blockIdx.x != p.n) p.words[64 + blockIdx.x] = p.words[0];  // [one_writes: read]
}
BOTH(one_writes)

template <bool kMended>
__device__ void atomic_and_plain(const Params& p) {
  int* const word = reinterpret_cast<int*>(p.words);
  if (kMended || blockIdx.x != p.n) {
    atomicOr(word, 1 << blockIdx.x);  // [atomic_and_plain: atomic]
  } else {
    *word = 7;  // [atomic_and_plain: plain]
  }
}
BOTH(atomic_and_plain)

// ---- The previous kernel ----

__device__ void first(const Params& p) {
  p.words[threadIdx.x] = threadIdx.x;
  p.words[2048 + threadIdx.x] = p.words[1024 + threadIdx.x];
}
ONE(first)

template <bool kMended>
__device__ void early_read(const Params& p) {
  if (kMended) ptx::wait_for_previous_kernel();
  p.words[512 + threadIdx.x] = p.words[threadIdx.x];  // [early_read]
}
BOTH(early_read)

template <bool kMended>
__device__ void early_copy(const Params& p) {
  if (kMended) ptx::wait_for_previous_kernel();
  ptx::cp_async_16(ptx::smem_address(shared()) + 16 * threadIdx.x, p.words);  // [early_copy]
}
BOTH(early_copy)

template <bool kMended>
__device__ void early_overwrite(const Params& p) {
  if (kMended) ptx::wait_for_previous_kernel();
  p.words[threadIdx.x] = 1;  // [early_overwrite]
}
BOTH(early_overwrite)

// What the previous kernel may still read.
template <bool kMended>
__device__ void early_write(const Params& p) {
  if (kMended) ptx::wait_for_previous_kernel();
  p.words[1024 + threadIdx.x] = 1;  // [early_write]
}
BOTH(early_write)

// One warp waits, the other does not.
template <bool kMended>
__device__ void half_waits(const Params& p) {
  if (kMended || threadIdx.x < 32) ptx::wait_for_previous_kernel();
  p.words[512 + threadIdx.x] = p.words[threadIdx.x];  // [half_waits]
}
BOTH(half_waits)

__device__ void untouched_by_the_previous(const Params& p) {
  p.words[3000 + threadIdx.x] = p.words[2500 + threadIdx.x];
}
ONE(untouched_by_the_previous)

// ---- Stack ----

__device__ __attribute__((noinline)) unsigned deep(unsigned n, volatile unsigned* above) {
  volatile unsigned local[256];
  local[n % 256] = *above + n;
  return n == 0 ? local[0] : deep(n - 1, local) + local[n % 256];
}
__device__ void deep_stack(const Params& p) {
  volatile unsigned top = 0;
  p.words[threadIdx.x] = deep(p.n, &top);
}
ONE(deep_stack)
)");
  return all;
}

const LittleLaunch kTwoWarps;
LittleLaunch one_warp() {
  LittleLaunch launch;
  launch.threads = 32;
  return launch;
}
LittleLaunch with_n(unsigned n) {
  LittleLaunch launch;
  launch.n = n;
  return launch;
}

void check_outside(const char* kernel, const char* mark, const LittleLaunch& launch,
                   const char* word) {
  check_bites(kernels(), kernel, launch, {FaultKind::out_of_bounds, {mark}, {word}});
}
void check_misaligned(const char* kernel, const char* mark, const LittleLaunch& launch) {
  check_bites(kernels(), kernel, launch, {FaultKind::misaligned, {mark}, {}});
}

// The kernel `first`, and one that may overlap it.
Report after_first(const char* kernel, bool overlaps) {
  LittleMemory memory;
  Grid grid(memory.memory());
  LittleLaunch launch;
  CHECK(kernels().run("first", launch, memory, grid).text() == "");
  launch.overlaps_previous = overlaps;
  return kernels().run(kernel, launch, memory, grid);
}

void check_early(const std::string& kernel) {
  const Report report = after_first((kernel + "_broken").c_str(), true);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].kind == FaultKind::early_read);
  const std::string& text = report.faults[0].text;
  CHECK_MESSAGE(text.find(kernels().place("[" + kernel + "]")) != std::string::npos, text);
  CHECK_MESSAGE(text.find("block 0, thread ") == 0, text);
  CHECK(after_first((kernel + "_broken").c_str(), false).text() == "");
  CHECK(after_first((kernel + "_mended").c_str(), true).text() == "");
}

}  // namespace

TEST_CASE("shared memory outside the dynamic and static objects must not be touched") {
  if (skips_faults()) return;
  check_outside("shared_past_the_end", "[shared_past_the_end]", kTwoWarps, "thread 63 ");
  check_outside("shared_before_the_start", "[shared_before_the_start]", with_n(1), "thread 0 ");
  check_outside("shared_before_the_start", "[shared_before_the_start]", with_n(100'000),
                "thread 0 ");
  check_outside("matrix_past_the_end", "[matrix_past_the_end]", one_warp(), "thread 31 ");
  check_outside("copy_past_the_end", "[copy_past_the_end]", kTwoWarps, "thread 63 ");
  check_outside("store_past_the_end", "[store_past_the_end]", kTwoWarps, "thread 63 ");
  check_outside("static_past_the_end", "[static_past]", with_n(1), "thread 63 ");
  check_outside("address_of_no_shared_memory", "[address_of]", kTwoWarps, "shared address");
}

TEST_CASE("device memory outside the allocations must not be touched") {
  if (skips_faults()) return;
  check_outside("global_write_past_the_end", "[global_write]", kTwoWarps, "thread 63 writes");
  check_outside("global_read_before_the_start", "[global_read]", kTwoWarps, "thread 0 reads");
  check_outside("vector_over_the_end", "[vector]", kTwoWarps, "reads 16 bytes");
  check_outside("copy_from_outside", "[copy_from_outside]", kTwoWarps, "thread 63 ");
  check_outside("copy_of_nothing", "[copy_of_nothing]", kTwoWarps, "reads 16 bytes");
  check_outside("atomic_outside", "[atomic_outside]", kTwoWarps, "4 bytes");
}

TEST_CASE("an access of n bytes must be at a multiple of n") {
  if (skips_faults()) return;
  // clang++ does not test the address where a vector is copied as a whole.
  if (emulator::host_compiler(LittleKernels::default_options()) == "g++") {
    check_misaligned("plain_vector", "[plain_vector]", kTwoWarps);
    check_misaligned("plain_vector_of_shared", "[plain_vector_of_shared]", kTwoWarps);
  }
  check_misaligned("plain_word", "[plain_word]", kTwoWarps);
  check_misaligned("loaded_vector", "[loaded_vector]", kTwoWarps);
  check_misaligned("copy_from_odd_place", "[copy_from_odd_place]", kTwoWarps);
  check_misaligned("copy_to_odd_place", "[copy_to_odd_place]", kTwoWarps);
  check_misaligned("matrix_at_odd_place", "[matrix_at_odd_place]", one_warp());
  check_misaligned("store_at_odd_place", "[store_at_odd_place]", kTwoWarps);
}

TEST_CASE("two blocks must not use the same word of device memory, one writing") {
  if (skips_faults()) return;
  LittleLaunch launch;
  launch.grid.x = 3;
  check_bites(kernels(), "both_write", launch,
              {FaultKind::blocks_collide, {"[both_write]"}, {"block 1, thread", "block 0"}});
  for (const unsigned writer : {0u, 1u, 2u}) {
    launch.n = writer;
    const char* const mark = writer == 0 ? "[one_writes: read]" : "[one_writes: write]";
    check_bites(kernels(), "one_writes", launch, {FaultKind::blocks_collide, {mark}, {}});
    check_bites(kernels(), "atomic_and_plain", launch, {FaultKind::blocks_collide, {}, {}});
  }
  launch.n = 0;
  launch.grid = {2, 2, 2};
  const Report report = kernels().run("both_write_broken", launch);
  REQUIRE_FALSE(report.faults.empty());
  CHECK_MESSAGE(report.faults[0].text.find("block (1, 0, 0), thread ") == 0, report.faults[0].text);
}

TEST_CASE("what the previous kernel used must not be touched before the wait for it") {
  if (skips_faults()) return;
  for (const char* kernel :
       {"early_read", "early_copy", "early_overwrite", "early_write", "half_waits"}) {
    CAPTURE(kernel);
    check_early(kernel);
  }
  CHECK(after_first("untouched_by_the_previous", true).text() == "");
}

TEST_CASE("a thread that uses up its stack ends the process at the guard page") {
  if (skips_faults()) return;
  CHECK(kernels().run("deep_stack", with_n(20)).text() == "");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // not doctest's
    kernels().run("deep_stack", with_n(2000));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

}  // namespace qrow
