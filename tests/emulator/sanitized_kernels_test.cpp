// Kernels compiled with the address and undefined behaviour sanitizers, where this program is: what
// they do wrong on their own stack, and in their arithmetic, ends the process.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/base/file.hpp"
#include "tests/emulator/little_kernels.hpp"
#include "tests/skip.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

bool skips() {
#ifdef QROW_EMULATED_SANITIZE
  return false;
#else
  skip_case("this program is built without the address sanitizer");
  return true;
#endif
}

const LittleKernels& kernels() {
  static const LittleKernels all("sanitized", R"(
template <bool kMended>
__device__ void overrun(const Params& p) {
  unsigned local[8];
  unsigned* volatile at = local;
  for (unsigned i = 0; i < (kMended ? 8 : p.n); ++i) at[i] = i;  // [overrun]
  p.words[threadIdx.x] = local[threadIdx.x % 8];
}
BOTH(overrun)

// The borders of variables outlast a switch to other threads.
template <bool kMended>
__device__ void overrun_after_barrier(const Params& p) {
  unsigned local[8] = {};
  unsigned* volatile at = local;
  __syncthreads();
  at[kMended ? 7 : p.n - 1] = 1;  // [overrun_after_barrier]
  __syncthreads();
  p.words[threadIdx.x] = local[threadIdx.x % 8];
}
BOTH(overrun_after_barrier)

template <bool kMended>
__device__ void index(const Params& p) {
  volatile unsigned local[8] = {};
  local[kMended ? 7 : p.n] = 1;
  p.words[threadIdx.x] = local[threadIdx.x % 8];
}
BOTH(index)

template <bool kMended>
__device__ void shift(const Params& p) {
  p.words[threadIdx.x] = 1 << (kMended ? 30 : p.n + 24);  // [shift]
}
BOTH(shift)

// Half of the threads are left in the middle of their functions.
template <bool kMended>
__device__ void stuck(const Params& p) {
  volatile unsigned local[8] = {};
  if (kMended || threadIdx.x < 32) ptx::named_barrier(1, 64);
  p.words[threadIdx.x] = local[threadIdx.x % 8];
}
BOTH(stuck)
)");
  return all;
}

LittleLaunch launch_with_n() {
  LittleLaunch launch;
  launch.n = 9;
  return launch;
}

// What a process that runs the kernel says before it dies; "" where it does not die.
std::string last_words(const std::string& kernel) {
  const TemporaryFolder folder;
  const std::string file = folder.file("stderr");
  kernels();
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(file.c_str(), "w", stderr) == nullptr) _exit(0);
    kernels().run(kernel, launch_with_n());
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  return died ? read_file(file) : "";
}

void check_dies(const std::string& name, const std::string& reason) {
  const std::string text = last_words(name + "_broken");
  CHECK_MESSAGE(text.find(reason) != std::string::npos, text);
  check_clean(kernels(), name + "_mended", launch_with_n());
}

}  // namespace

TEST_CASE("a kernel that writes past a local array dies, before and after a barrier") {
  if (skips()) return;
  check_dies("overrun", "stack-buffer-overflow");
  check_dies("overrun_after_barrier", "stack-buffer-overflow");
}

TEST_CASE("a kernel with undefined arithmetic dies") {
  if (skips()) return;
  check_dies("shift", "shift exponent 33 is too large");
  check_dies("index", "index 9 out of bounds");
}

TEST_CASE("stacks of threads that were abandoned serve the next launch") {
  if (skips()) return;
  LittleMemory memory;
  emulator::Grid grid(memory.memory());
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(kernels().run("stuck_broken", launch_with_n(), memory, grid).clean());
    CHECK(kernels().run("stuck_mended", launch_with_n(), memory, grid).text() == "");
    CHECK(kernels().run("overrun_mended", launch_with_n(), memory, grid).text() == "");
  }
}

}  // namespace qrow
