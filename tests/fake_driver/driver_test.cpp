#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fake_driver/bench.hpp"

using namespace qrow;
using fake_cuda::fake_cuda_calls;
using fake_cuda::fake_cuda_fail;
using fake_cuda::fake_cuda_live_libraries;

namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[512];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  pclose(pipe);
  return output;
}

std::string probe(const std::string& libcuda, const std::string& more = "") {
  return output_of("QROW_LIBCUDA=" + libcuda + " " + more + " " + QROW_DRIVER_PROBE);
}

}  // namespace

TEST_CASE("a driver library that is not there is named, with what to do") {
  const std::string output = probe("/nowhere/libcuda.so");
  CHECK(has(output, "context: NO_DEVICE"));
  CHECK(has(output, "'/nowhere/libcuda.so'"));
  CHECK(has(output, "QROW_LIBCUDA"));
}

TEST_CASE("a driver without a GPU is told by the code of cuInit") {
  const std::string output = probe(QROW_FAKE_CUDA, "FAKE_CUDA_INIT_RESULT=100");
  CHECK(has(output, "context: NO_DEVICE"));
  CHECK(has(output, "CUDA_ERROR_NO_DEVICE"));
}

TEST_CASE("a function that an old driver lacks is an error with the version that brings it") {
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const std::string cache = "QROW_CACHE=" + folder.file("c.db");
  CHECK(has(probe(QROW_FAKE_CUDA, cache), "plan: OK"));
  const std::string output = probe(QROW_FAKE_OLD_CUDA, cache);
  CHECK(
      has(output, "plan: DRIVER: cuLibraryLoadData is not in this CUDA driver: it came with 12.0"));
  CHECK(has(output, "is 11.4"));
}

TEST_CASE("each driver call that fails is named with its code, and the next try succeeds") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  qrow_context_options options;
  qrow_context_options_init(&options);
  const std::string path = folder.file("c.db");
  options.cache_path = path.c_str();
  options.jit_mode = QROW_JIT_CACHE_ONLY;
  for (const char* call :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2", "cuCtxGetCurrent", "cuCtxGetDevice"}) {
    fake_cuda_fail(call, 1, CUDA_ERROR_UNKNOWN);
    qrow_context* context = nullptr;
    CHECK(qrow_context_create(&options, &context) == QROW_STATUS_DRIVER);
    CHECK(has(qrow_last_error(),
              std::string(call) + " failed: CUDA_ERROR_UNKNOWN (as the stand-in was told)"));
    CHECK(context == nullptr);
  }
  for (const char* call :
       {"cuStreamIsCapturing", "cuCtxGetCurrent", "cuCtxGetDevice", "cuLibraryLoadData",
        "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncSetAttribute", "cuLaunchKernelEx"}) {
    for (const int nth : {1, 2}) {
      INFO(call << " number " << nth);
      const TestContext test(path);
      const int before = fake_cuda_calls(call);
      fake_cuda_fail(call, nth, CUDA_ERROR_UNKNOWN);
      const qrow_status status =
          qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr);
      if (fake_cuda_calls(call) - before < nth) {  // made once only
        fake_cuda_fail(call, 1'000'000, CUDA_ERROR_UNKNOWN);
        CHECK(status == QROW_STATUS_OK);
        continue;
      }
      CHECK(status == QROW_STATUS_DRIVER);
      CHECK(has(qrow_last_error(), std::string(call) + " failed: CUDA_ERROR_UNKNOWN"));
      CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
            QROW_STATUS_OK);
    }
  }
  fake_cuda_fail("cuLibraryUnload", 1, CUDA_ERROR_UNKNOWN);  // nobody to tell
}

TEST_CASE("host and device memory that run out have their own status") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  fake_cuda_fail("cuLibraryLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
        QROW_STATUS_OUT_OF_MEMORY);
  CHECK(has(qrow_last_error(), "cuLibraryLoadData"));
}

TEST_CASE("of several rows of one key the first that the driver accepts serves") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine, .nvrtc_build = "12.9.1"});
  fill_cache(folder.file("c.db"),
             {.line = kLine, .image = fake_cuda::kRefusedImage, .nvrtc_build = "13.9.9"});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
        QROW_STATUS_OK);
  CHECK(test.stats().user_hits == 2);
}

TEST_CASE("rows that the driver refuses are a miss, counted by reason") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine, .image = "not an ELF file"});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
        QROW_STATUS_NOT_CACHED);
  CHECK(test.stats().miss_refused_by_driver > 0);
  CHECK(fake_cuda_live_libraries() == 0);
}
