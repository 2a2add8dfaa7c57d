// Compiles into the cache every kernel that calls of the given cases may launch. Needs no GPU and
// no driver. The work behind qrow_prewarm and `qrow prewarm`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/case.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_provider.hpp"

namespace qrow {

// One kernel to make, or one spec that an arch cannot serve.
struct PrewarmItem {
  std::string case_line;  // canonical line of the spec
  const Arch* arch = nullptr;
  std::string family;  // "" where refused
  Variant variant;     // REQUIRES: not refused
  Key key;
  bool repeats = false;  // an earlier item makes the same key
  std::string refusal;   // each family's reason; "" where able
  Status refusal_status = Status::ok;
};

struct Shard {  // i of n: every n-th distinct key, so that n machines share a list
  int index = 0;
  int count = 1;
};

// For each case and arch: the kernels of every bucket's default, equal kernels of one spec once; a
// case that forces family or tuning gives that choice's kernels. Kernels that an earlier spec
// already needed appear again, with `repeats` set.
std::vector<PrewarmItem> list_prewarm(const std::vector<Case>& cases,
                                      const std::vector<const Arch*>& archs,
                                      const Shard& shard = {});

// What became of an item. Callbacks come one at a time, from several threads, in order of
// completion.
struct PrewarmOutcome {
  int index = 0;  // of the item in the list
  int done = 0;   // items finished, this one included
  int count = 0;
  const PrewarmItem* item = nullptr;
  Status status = Status::ok;
  std::string message;  // the reason where status is not ok
  Source source = Source::compiled;
  int registers = 0, spill_bytes = 0, stack_bytes = 0, smem_bytes = 0;
  std::int64_t cubin_bytes = 0;
  double compile_ms = 0;  // 0 unless compiled now
};

struct PrewarmRun {
  int threads = 0;       // 0: as cores and memory allow
  bool refresh = false;  // recompile what another NVRTC build made
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const PrewarmOutcome&)> on_item;  // may be null
};

struct PrewarmTotals {
  int items = 0, compiled = 0, hits = 0, memory = 0, failed = 0;
  bool cancelled = false;  // the items not reached are in none of the counts but `items`
  double seconds = 0;
  std::int64_t cubin_bytes = 0;
  Status first_failure = Status::ok;
  std::string first_message;
};

// Goes on after an item that fails.
PrewarmTotals prewarm(KernelProvider& provider, const std::vector<PrewarmItem>& items,
                      const PrewarmRun& run);

// Compiler threads that cores and memory allow.
int default_compile_threads();

}  // namespace qrow
