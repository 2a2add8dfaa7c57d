#include "jit/compiler.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "jit/nvrtc.hpp"
#include "jit/ptxas_log.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"
#include "tests/skip.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

bool lacks_nvrtc() {
  if (Nvrtc::try_get(nullptr) != nullptr) return false;
  skip_case("no NVRTC");
  return true;
}

CompileJob job_of(const std::string& body, const std::string& attribute = "",
                  const char* arch = "sm_90a") {
  CompileJob job;
  job.name = "foo";
  job.text = "extern \"C\" __global__ void " + attribute + " foo(int* p) {" + body + "}\n";
  job.arch = &arch_by_name(arch);
  return job;
}

// Long enough to be stopped: some hundred thousand instructions to optimise.
CompileJob slow_job() {
  std::string body = "float a[64]; for (int i = 0; i < 64; ++i) a[i] = p[i * 33];\n";
  for (int step = 0; step < 400; ++step) {
    body +=
        fmt::format("for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i * 7 + {}) % 64] + 1;\n", step);
  }
  return job_of(body + "for (int i = 0; i < 64; ++i) p[i] = a[i];");
}

Status status_of(const CompileJob& job, const CompileLimits& limits = {},
                 std::string* text = nullptr) {
  try {
    compile(job, limits);
    return Status::ok;
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.status();
  }
}

const char kIndexed[] =
    "int a[64]; for (int i = 0; i < 64; ++i) a[i] = p[i]; int s = 0;"
    "for (int i = 0; i < 64; ++i) s += a[p[i] & 63]; p[0] = s;";
const char kSpilling[] =
    "float a[64]; for (int i = 0; i < 64; ++i) a[i] = p[i * 33]; __syncthreads();"
    "for (int j = 0; j < p[7]; ++j) for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i * 7 + 1) % 64] "
    "+ 1;"
    "for (int i = 0; i < 64; ++i) p[i] = a[i];";

}  // namespace

TEST_CASE("Cubin and log agree about every resource on every architecture") {
  if (lacks_nvrtc()) return;
  const struct {
    const char* body;
    const char* attribute;
    int smem;
  } rows[] = {
      {"", "", 0},
      {"__shared__ int x[32]; x[threadIdx.x] = p[0]; __syncthreads(); p[1] = x[3];", "", 128},
      {"__shared__ int x[10000]; x[threadIdx.x] = p[0]; __syncthreads(); p[1] = x[3];", "", 40000},
      {"extern __shared__ int x[]; x[threadIdx.x] = p[0]; __syncthreads(); p[1] = x[3];", "", 0},
      {kIndexed, "", 0},
      {kSpilling, "__maxnreg__(24)", 0},
  };
  for (const Arch& arch : archs()) {
    for (const auto& row : rows) {
      const CompileResult result = compile(job_of(row.body, row.attribute, arch.name));
      const auto logged = parse_ptxas_log(result.log, "foo");
      REQUIRE_MESSAGE(logged, result.log);
      CHECK(result.resources.registers == logged->registers);
      CHECK(result.resources.stack_bytes == logged->stack_bytes);
      CHECK(result.resources.static_smem_bytes == logged->static_smem_bytes);
      CHECK(result.resources.static_smem_bytes == row.smem);
      CHECK(cubin_arch(result.cubin).starts_with(std::string(arch.name).substr(0, 5)));
      CHECK_MESSAGE(result.log.find("qrow:") == std::string::npos, result.log);
    }
  }
}

TEST_CASE("An array that is indexed by data shows as local memory") {
  if (lacks_nvrtc()) return;
  for (const Arch& arch : archs()) {
    CHECK(compile(job_of(kIndexed, "", arch.name)).resources.stack_bytes == 256);
  }
}

TEST_CASE("A register cap that is too low shows as spills") {
  if (lacks_nvrtc()) return;
  const CompileResult result = compile(job_of(kSpilling, "__maxnreg__(24)"));
  CHECK(result.resources.registers == 24);
  CHECK(result.resources.spill_store_bytes > 0);
  CHECK(result.resources.spill_load_bytes > 0);
}

TEST_CASE("The result says what made it") {
  if (lacks_nvrtc()) return;
  const CompileResult result = compile(job_of(""));
  CHECK(result.nvrtc_build == Nvrtc::get().build());
  CHECK(result.options.find("--gpu-architecture=sm_90a") == 0);
  CHECK(result.options.find("--no-cache") != std::string::npos);
  CHECK(result.milliseconds > 0);
}

TEST_CASE("Equal texts give equal bytes") {
  if (lacks_nvrtc()) return;
  CHECK(compile(job_of("p[0] = 1;")).cubin == compile(job_of("p[0] = 1;")).cubin);
}

TEST_CASE("Headers are found by their paths and by nothing else") {
  if (lacks_nvrtc()) return;
  const SourceFile header{"templates/a/b.cuh", "constexpr int kValue = 7;\n"};
  CompileJob job = job_of("p[0] = kValue;");
  job.text = "#include \"templates/a/b.cuh\"\n" + job.text;
  CHECK(status_of(job) == Status::compile_failed);
  job.headers = {&header, 1};
  CHECK(status_of(job) == Status::ok);
}

TEST_CASE("A text that does not compile gives an error that ends with the compiler's log") {
  if (lacks_nvrtc()) return;
  std::string text;
  CHECK(status_of(job_of("no_such_name = 1;"), {}, &text) == Status::compile_failed);
  CHECK(text.find("could not compile foo for sm_90a") != std::string::npos);
  CHECK(text.find("foo.cu(1): error: identifier \"no_such_name\" is undefined") !=
        std::string::npos);
}

TEST_CASE("A static_assert that host and device disagree about stops the compilation") {
  if (lacks_nvrtc()) return;
  std::string text;
  CompileJob job = job_of("");
  job.text += "static_assert(1 == 2, \"host and device disagree about shared memory\");\n";
  CHECK(status_of(job, {}, &text) == Status::compile_failed);
  CHECK(text.find("host and device disagree") != std::string::npos);
}

TEST_CASE("An architecture that this NVRTC does not know is refused with those that it knows") {
  if (lacks_nvrtc()) return;
  const Arch future{"sm_990a", 99, 0, 0, 0, 0, 0, 0};
  CompileJob job = job_of("");
  job.arch = &future;
  std::string text;
  CHECK(status_of(job, {}, &text) == Status::unsupported);
  CHECK(text.find("sm_990a was asked for; NVRTC " + Nvrtc::get().build()) == 0);
  CHECK(text.find("80, 86, ") != std::string::npos);
}

TEST_CASE("A deadline ends a compilation, before it starts or while it runs") {
  if (lacks_nvrtc()) return;
  using Clock = std::chrono::steady_clock;
  CompileLimits limits;
  limits.deadline = Clock::now();
  CHECK(status_of(job_of(""), limits) == Status::deadline);
  limits.deadline = Clock::now() + std::chrono::milliseconds(150);
  const auto start = Clock::now();
  CHECK(status_of(slow_job(), limits) == Status::deadline);
  CHECK(Clock::now() - start < std::chrono::seconds(10));
  limits.deadline = Clock::now() + std::chrono::hours(1);
  CHECK(status_of(job_of(""), limits) == Status::ok);
}

TEST_CASE("A cancelled compilation ends as cancelled") {
  if (lacks_nvrtc()) return;
  std::atomic<bool> cancel{false};
  CompileLimits limits;
  limits.cancel = &cancel;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    cancel = true;
  });
  CHECK(status_of(slow_job(), limits) == Status::cancelled);
  CHECK(status_of(job_of(""), limits) == Status::cancelled);
}

TEST_CASE("Many threads compile at once and get their own results") {
  if (lacks_nvrtc()) return;
  constexpr int kThreads = 8;
  std::vector<int> smem(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([i, &smem] {
        const std::string body = fmt::format(
            "__shared__ int x[{}]; x[threadIdx.x] = p[0]; __syncthreads(); p[1] = x[0];",
            100 * (i + 1));
        smem[static_cast<std::size_t>(i)] = compile(job_of(body)).resources.static_smem_bytes;
      });
    }
  }
  for (int i = 0; i < kThreads; ++i) CHECK(smem[static_cast<std::size_t>(i)] == 400 * (i + 1));
}

TEST_CASE("QROW_DUMP receives text, log and cubin, also of what does not compile") {
  if (lacks_nvrtc()) return;
  const TemporaryFolder folder;
  setenv("QROW_DUMP", folder.file("new/dump").c_str(), 1);
  const CompileJob job = job_of("p[0] = 3;");
  const CompileResult result = compile(job);
  CompileJob broken = job_of("?");
  broken.name = "broken";
  CHECK(status_of(broken) == Status::compile_failed);
  setenv("QROW_DUMP", "/proc/no/such/folder", 1);
  const CompileResult undumped = compile(job);
  unsetenv("QROW_DUMP");
  CHECK(read_file(folder.file("new/dump/foo/entry.cu")) == job.text);
  CHECK(read_file(folder.file("new/dump/foo/kernel.cubin")).size() == result.cubin.size());
  CHECK(read_file(folder.file("new/dump/foo/compile.log")).find("registers") != std::string::npos);
  CHECK(read_file(folder.file("new/dump/broken/compile.log")).find("error") != std::string::npos);
  CHECK_FALSE(file_exists(folder.file("new/dump/broken/kernel.cubin")));
  CHECK(undumped.cubin == result.cubin);
  CHECK(undumped.log.find("qrow: QROW_DUMP: ") != std::string::npos);
}

TEST_CASE("A real cubin that is cut or changed is read or refused, never more") {
  if (lacks_nvrtc()) return;
  const std::vector<std::byte> whole = compile(job_of(kSpilling)).cubin;
  const auto read = [](const std::vector<std::byte>& bytes) {
    cubin_arch(bytes);
    try {
      read_cubin_info(bytes, "foo");
    } catch (const Error& error) {
      REQUIRE(error.status() == Status::invalid_argument);
    }
  };
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> changed = whole;
    changed[at] ^= std::byte{0xff};
    read(changed);
  }
}

}  // namespace qrow
