// The claims about the run path, counted: this executable's own malloc, pthread_mutex_lock and
// getenv stand before the C library's, for everything that is linked into it.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/fake_driver/bench.hpp"
#include "tests/skip.hpp"

using namespace qrow;
using fake_cuda::fake_cuda_be_quiet;
using fake_cuda::fake_cuda_quiet_calls;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define QROW_COUNTS 0  // the sanitizers put their own functions there
#else
#define QROW_COUNTS 1
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<int> allocations{0}, locks{0}, environment_reads{0};

template <typename T>
T next(const char* name) {
  return reinterpret_cast<T>(dlsym(RTLD_NEXT, name));
}
}  // namespace

#if QROW_COUNTS
extern "C" {
void* __libc_malloc(std::size_t bytes);

void* malloc(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  return __libc_malloc(bytes);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  if (counting.load(std::memory_order_relaxed)) ++locks;
  return real(mutex);
}
char* getenv(const char* name) noexcept {
  static const auto real = next<char* (*)(const char*)>("getenv");
  if (counting.load(std::memory_order_relaxed)) ++environment_reads;
  return real(name);
}
}
#endif

namespace {

constexpr const char* kLineWithLse = "heads=64/8 rows=4 page=64 kv=e4m3 lse=2";
constexpr int kCalls = 1000;

template <typename Call>
void check_counts(const Call& call) {
  for (int i = 0; i < 2; ++i) call();  // what is made on first use
  fake_cuda_be_quiet(true);
  const unsigned long long before = fake_cuda_quiet_calls("cuLaunchKernelEx");
  allocations = locks = environment_reads = 0;
  counting = true;
  for (int i = 0; i < kCalls; ++i) call();
  counting = false;
  CHECK(fake_cuda_quiet_calls("cuLaunchKernelEx") - before == 2 * kCalls);
  fake_cuda_be_quiet(false);
  CHECK(allocations == 0);
  CHECK(locks == 0);
  CHECK(environment_reads == 0);
}

}  // namespace

TEST_CASE(
    "a run of a plan and a hit of qrow_decode allocate nothing, take no lock and read no "
    "environment") {
  if (!QROW_COUNTS) {
    skip_case("a sanitizer has the functions that this case counts");
    return;
  }
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLineWithLse});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLineWithLse);
  const qrow_args args = args_of(spec, 128, 2048);
  qrow_plan* plan = nullptr;
  REQUIRE(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_OK);
  int failures = 0;
  check_counts([&] {
    failures += qrow_plan_run(plan, &args, workspace(), kWorkspaceBytes, nullptr) != QROW_STATUS_OK;
  });
  check_counts([&] {
    failures += qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) !=
                QROW_STATUS_OK;
  });
  CHECK(failures == 0);
  // The counters count: a wrong argument makes a text.
  counting = true;
  CHECK(qrow_plan_run(plan, nullptr, nullptr, 0, nullptr) == QROW_STATUS_INVALID_ARGUMENT);
  counting = false;
  CHECK(allocations > 0);
  qrow_plan_destroy(plan);
}

TEST_CASE("threads share a context: hits and misses of many specs and buckets at once") {
  start_machine();
  TemporaryFolder folder;
  std::vector<qrow_spec> specs;
  for (const int heads : {8, 16, 32, 64}) {
    for (const char* kv : {"e4m3", "bf16"}) {
      const std::string line = "heads=" + std::to_string(heads) + "/8 kv=" + kv;
      fill_cache(folder.file("c.db"), {.line = line});
      specs.push_back(spec_of(line));
    }
  }
  const TestContext test(folder.file("c.db"));
  constexpr int kThreads = 4, kRounds = 50;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      make_current(0);
      for (int i = 0; i < kRounds; ++i) {
        const qrow_spec& spec = specs[static_cast<std::size_t>(i + t) % specs.size()];
        const qrow_args args = args_of(spec, 1 << (i % 10), 1000 * (1 + i % 7));
        failures += qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes,
                                nullptr) != QROW_STATUS_OK;
        std::size_t bytes = 0;
        failures += qrow_workspace_bytes(test.context, &spec, 1, 1000, &bytes) != QROW_STATUS_OK;
        failures += test.stats().compiles != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("threads that miss the same kernel at once compile it once") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"), true);
  const qrow_spec spec = spec_of("heads=8/8 kv=bf16");
  const qrow_args args = args_of(spec, 4, 1000);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      make_current(0);
      failures += qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) !=
                  QROW_STATUS_OK;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(test.stats().compiles == 2);  // attention and combine
}
