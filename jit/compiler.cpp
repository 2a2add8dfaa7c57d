#include "jit/compiler.hpp"

#include <algorithm>

#include "jit/nvrtc.hpp"
#include "jit/nvrtc_program.hpp"
#include "jit/ptxas_log.hpp"
#include "runtime/base/env.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> options_for(const Arch& arch) {
  return {
      fmt::format("--gpu-architecture={}", arch.name), "--std=c++20",
      // Unannotated functions are device code: config headers are shared with the host compiler as
      // they are.
      "--device-as-default-execution-space",
      // NVRTC's own cache lies in the driver's: with it a compile loads libcuda. Ours is the only
      // one.
      "--no-cache",
      // True, the default, raises RLIMIT_STACK of the whole process during a compile.
      "--modify-stack-limit=false",
      "--ptxas-options=-v",  // spill bytes are nowhere else
  };
}

// Polled from NVRTC's threads. Sticky because both conditions are: time does not go back, `cancel`
// is only ever set.
bool must_stop(const void* payload) {
  const auto& limits = *static_cast<const CompileLimits*>(payload);
  return (limits.cancel != nullptr && limits.cancel->load(std::memory_order_relaxed)) ||
         (limits.deadline && Clock::now() >= *limits.deadline);
}

[[noreturn]] void fail_stopped(const CompileJob& job, const CompileLimits& limits) {
  if (limits.cancel != nullptr && limits.cancel->load()) {
    fail(Status::cancelled, "the compilation of {} for {} was cancelled", job.name, job.arch->name);
  }
  fail(Status::deadline, "the compilation of {} for {} did not end before its deadline", job.name,
       job.arch->name);
}

void check_arch(const Nvrtc& nvrtc, const Arch& arch) {
  const std::vector<int>& known = nvrtc.supported_archs();
  if (std::find(known.begin(), known.end(), arch.major * 10 + arch.minor) != known.end()) return;
  fail(Status::unsupported,
       "{} was asked for; NVRTC {} at {} compiles for {} only. Install a newer NVRTC or set "
       "QROW_NVRTC to one",
       arch.name, nvrtc.build(), nvrtc.path(), fmt::join(known, ", "));
}

// What QROW_DUMP asks for: <folder>/<kernel>/{entry.cu, kernel.cubin, compile.log}. A dump that
// cannot be written fails no call; the log says so.
void dump(const CompileJob& job, CompileResult& result) {
  std::string reason;
  try {
    const auto folder = dump_folder_by_environment();
    if (!folder) return;
    const std::string path = fmt::format("{}/{}", *folder, job.name);
    if (!make_folders(path, &reason)) fail(Status::cache, "{}", reason);
    write_file(path + "/entry.cu", job.text);
    write_file(path + "/compile.log", fmt::format("options: {}\nNVRTC: {}\n{}", result.options,
                                                  result.nvrtc_build, result.log));
    if (result.cubin.empty()) return;
    write_file(path + "/kernel.cubin",
               {reinterpret_cast<const char*>(result.cubin.data()), result.cubin.size()});
  } catch (const Error& error) {
    result.log += fmt::format("\nqrow: QROW_DUMP: {}", error.what());
  }
}

[[noreturn]] void fail_compile(const CompileJob& job, const CompileResult& result,
                               const Nvrtc& nvrtc, const char* reason) {
  fail(Status::compile_failed,
       "NVRTC {} could not compile {} for {} ({}; options {}). Its log:\n{}", nvrtc.build(),
       job.name, job.arch->name, reason, result.options, result.log);
}

// The cubin's own word, completed with the spills of the log.
Resources resources_of(const CompileJob& job, CompileResult& result) {
  Resources found = read_cubin_info(result.cubin, job.name);
  const auto logged = parse_ptxas_log(result.log, job.name);
  if (!logged) {
    result.log += "\nqrow: the assembler's report has an unknown form: spill bytes are not known";
    return found;
  }
  if (logged->registers != found.registers ||
      logged->static_smem_bytes != found.static_smem_bytes) {
    result.log += fmt::format("\nqrow: the cubin says {} registers and {} bytes of shared memory",
                              found.registers, found.static_smem_bytes);
  }
  found.spill_store_bytes = logged->spill_store_bytes;
  found.spill_load_bytes = logged->spill_load_bytes;
  return found;
}

}  // namespace

CompileResult compile(const CompileJob& job, const CompileLimits& limits) {
  const Nvrtc& nvrtc = Nvrtc::get();
  check_arch(nvrtc, *job.arch);
  if (must_stop(&limits)) fail_stopped(job, limits);

  const Clock::time_point start = Clock::now();
  const std::vector<std::string> options = options_for(*job.arch);
  CompileResult result;
  result.nvrtc_build = nvrtc.build();
  result.options = fmt::format("{}", fmt::join(options, " "));
  NvrtcProgram program(nvrtc.functions(), job.name + ".cu", job.text, job.headers);
  if (limits.deadline || limits.cancel != nullptr) program.set_stop_callback(must_stop, &limits);

  const NvrtcResult outcome = program.compile(options);
  result.log = program.log();
  if (outcome == NvrtcResult::cancelled) fail_stopped(job, limits);
  if (outcome == NvrtcResult::success) result.cubin = program.cubin();
  if (result.cubin.empty()) {
    dump(job, result);
    fail_compile(job, result, nvrtc, program.result_text(outcome));
  }
  result.resources = resources_of(job, result);
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  dump(job, result);
  return result;
}

}  // namespace qrow
