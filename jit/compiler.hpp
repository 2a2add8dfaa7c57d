// Text in, cubin out. Needs NVRTC; needs no driver, GPU, disk or include path. Thread-safe: any
// number of compiles at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/arch.hpp"
#include "jit/cubin_info.hpp"

namespace qrow {

// A header that generated code may include, by its repository path.
struct SourceFile {
  std::string_view path;  // "templates/common/ptx.cuh"
  std::string_view text;
};

struct CompileJob {
  std::string name;  // of the kernel in `text`; also names dump files
  std::string text;  // the translation unit
  std::span<const SourceFile> headers;
  const Arch* arch = nullptr;
};

struct CompileLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool>* cancel =
      nullptr;  // sticky; may be set from any thread or signal handler
};

struct CompileResult {
  std::vector<std::byte> cubin;
  Resources resources;
  std::string log;
  std::string nvrtc_build;
  std::string options;  // as passed, separated by spaces
  double milliseconds = 0;
};

// Throws Error: no_compiler, compile_failed (text ends with the log), deadline, cancelled,
// unsupported (an arch that this NVRTC does not know: lists what it knows).
CompileResult compile(const CompileJob& job, const CompileLimits& limits = {});

}  // namespace qrow
