// From a variant to its cubin: memory, seeds, user cache, compiler. Single flight per key inside
// the process and between processes. Needs no driver. Used by contexts (which then load the cubin),
// by prewarm and by `qrow explain`.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/layers.hpp"
#include "jit/compiler.hpp"
#include "jit/key.hpp"
#include "runtime/base/log.hpp"

namespace qrow {

enum class Source : int { compiled = 1, user = 2, seed = 3, memory = 4 };  // = qrow_source
const char* source_name(Source source);

// `given`, else QROW_CACHE, else "" for the user's folder: what StoreOptions::path takes.
std::string cache_path_or_default(const std::string& given);

// A cubin in memory, with what is known about it.
struct Cubin {
  Key key;
  KernelRow row;  // cubin bytes included
  Source source = Source::compiled;
};

struct ProviderOptions {
  std::string cache_path;               // "": QROW_CACHE, else the user's folder
  std::vector<std::string> seed_paths;  // those of QROW_SEEDS follow
  bool cache_off = false;
  bool read_only = false;
  bool cache_only = false;  // a miss throws Error(not_cached)
  int compile_deadline_ms = 0;
  Log log;
};

struct ProviderCounts {  // monotonic; read at any time
  std::atomic<unsigned long long> memory_hits{0}, seed_hits{0}, user_hits{0}, compiles{0},
      compile_failures{0}, not_cached{0}, miss_new_key{0}, miss_corrupt{0},
      miss_refused_by_driver{0}, miss_cache_unavailable{0}, cache_errors{0};
  std::atomic<unsigned long long> compile_microseconds{0};
};

class KernelProvider {
 public:
  // QROW_JIT may forbid compiling too. Throws Error(invalid_argument) for an environment variable
  // with a wrong value.
  explicit KernelProvider(const ProviderOptions& options);
  ~KernelProvider();

  struct Request {
    const Variant* variant = nullptr;
    std::string case_line;  // for the row and for messages
    bool pinned =
        false;  // prewarm: stored rows are not evicted, and a row that does not fit is an error
    bool refresh = false;     // recompile where the stored row was made by another NVRTC build
    bool may_compile = true;  // false: a miss throws Error(not_cached), as with cache_only
    const std::atomic<bool>* cancel = nullptr;
    // Asked for each candidate cubin (the driver's word); false: try the next row, then compile.
    // Null: accept.
    std::function<bool(const Cubin&)> accept;
  };
  // Throws Error: not_cached, no_compiler, compile_failed, deadline, cancelled; with `pinned` also
  // cache.
  std::shared_ptr<const Cubin> get(const Request& request);

  // The stored row without cubin that get() would use, or null; never compiles, counts nothing.
  std::unique_ptr<Cubin> peek(const Variant& variant);

  // Throws Error(not_cached) with the key, `why` and the prewarm line, and counts it.
  [[noreturn]] void refuse(const Variant& variant, const std::string& case_line,
                           const std::string& why);
  // For callers that keep loaded kernels themselves.
  void count_memory_hit();

  // Nothing compiles: by the options, or by QROW_JIT.
  bool cache_only() const;

  const ProviderCounts& counts() const;
  const Log& log() const;
  Layers& layers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qrow
