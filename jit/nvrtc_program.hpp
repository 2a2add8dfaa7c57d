// NVRTC's functions as a table, and the owner of one NVRTC program. A program belongs to one thread
// at a time; any number of programs may be compiled at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "jit/compiler.hpp"

namespace qrow {

using NvrtcHandle = struct NvrtcProgramObject*;

// The values of nvrtcResult that qrow tells apart.
enum class NvrtcResult : int {
  success = 0,
  out_of_memory = 1,
  compilation = 6,
  builtin_operation_failure = 7,
  cancelled = 16,
};

struct NvrtcFunctions {
#define QROW_NVRTC_FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
#include "jit/nvrtc_functions.def"
#undef QROW_NVRTC_FUNCTION
};

class NvrtcProgram {
 public:
  // `functions` must outlive the program. Throws Error.
  NvrtcProgram(const NvrtcFunctions& functions, const std::string& name, const std::string& text,
               std::span<const SourceFile> headers);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  // `callback(payload)` is polled from NVRTC's threads; once it has returned true it must go on
  // doing so.
  void set_stop_callback(bool (*callback)(const void*), const void* payload);
  NvrtcResult compile(const std::vector<std::string>& options);
  const char* result_text(NvrtcResult result) const;

  std::string log() const;
  // Of a real architecture ("sm_90a").
  std::vector<std::byte> cubin() const;
  // Of a virtual one ("compute_90").
  std::string ptx() const;

 private:
  void check(int result, const char* call) const;

  // What NVRTC's C callback is handed.
  struct Stop {
    bool (*callback)(const void*) = nullptr;
    const void* payload = nullptr;
  };

  const NvrtcFunctions& functions_;
  NvrtcHandle handle_ = nullptr;
  Stop stop_;
};

}  // namespace qrow
