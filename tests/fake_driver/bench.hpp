// What the tests with the stand-in driver share: a machine, a cache file filled with images that it
// accepts, and arguments of a call that are right until a test spoils one.
#pragma once

#include <string>
#include <vector>

#include "runtime/include/qrow/qrow.h"
#include "runtime/prewarm.hpp"
#include "tests/fake_driver/fake_cuda.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {

// A fresh machine with device 0's primary context current on this thread.
void start_machine(const fake_cuda::Machine& machine = {});
void make_current(int device);  // -1: none

// The case of tests to which the case does not matter.
inline constexpr const char* kLine = "heads=64/8 rows=4 page=64 kv=e4m3";
qrow_spec spec_of(const std::string& line = kLine);

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Stores, for every kernel that calls of this line may launch, a row with `image` as its cubin.
struct Filled {
  std::string line;
  std::string arch = "sm_90a";
  const char* image = fake_cuda::kGoodImage;
  std::string nvrtc_build = "13.0.88";
};
void fill_cache(const std::string& path, const Filled& filled);
std::vector<PrewarmItem> items_of(const std::string& line, const std::string& arch = "sm_90a");

// A context on device 0 with this cache file; jit_mode cache_only unless `compiles`.
struct TestContext {
  explicit TestContext(const std::string& cache_path, bool compiles = false, int device = 0);
  ~TestContext() { qrow_context_destroy(context); }
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;
  qrow_stats stats() const;
  qrow_context* context = nullptr;
};

// Arguments that pass every check for `spec`; the tensors are addresses that nothing reads.
qrow_args args_of(const qrow_spec& spec, int batch, long long max_kv_len);
// 256-byte aligned, as large as any test needs.
void* workspace();
inline constexpr std::size_t kWorkspaceBytes = std::size_t{1}
                                               << 30;  // never touched: the stand-in runs no kernel

}  // namespace qrow
