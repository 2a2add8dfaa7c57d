// `qrow prewarm`: compiles into the cache, without a GPU, every kernel that calls of the given
// cases may launch.
#include "runtime/prewarm.hpp"

#include <set>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/interrupt.hpp"
#include "runtime/tools/prewarm_report.hpp"
#include "runtime/tools/prewarm_request.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage =
    R"(usage: qrow prewarm [CASE...] [--cases FILE] [--model config.json] --arch LIST [options]

Compiles into the cache, without a GPU, every kernel that calls of these specs may launch, so that nothing compiles in
service. A second run finds everything and compiles nothing.

  CASE                a case line, "heads=64/8 rows=4 kv=e4m3"; its workload does not matter
  --cases FILE        case lines from a file, one a line, '#' starts a comment
  --model FILE        the layers of a model, from its Hugging Face config.json; each kind of layer becomes specs, with
    --tp 1,2            GPUs that share the heads (1)
    --rows 1-8          query rows per request (1-8)
    --kv bf16,e4m3      KV types (what the config declares)
    --page 64           tokens per page (64)
  --arch LIST         sm_80,sm_90a,...; aliases such as h200; without it this machine's GPU
  --jobs N            compilations at a time (as cores and memory allow)
  --shard i/n         the i-th of n equal parts, i from 1: n machines share the work, 'qrow merge' joins it
  --dry-run           say what would be compiled
  --refresh           compile again what another NVRTC build made
  --from-tuning       also every tuned pick (this version has no tuning records: adds nothing)

Prints a line per kernel and totals; kernels that an earlier spec already brought are only counted (--json has them all,
with source "memory"). What this version cannot do for a spec (a sliding window, say) is listed as refused
with its reason; that alone is no failure. Exit code 1 if a kernel failed to compile, if the work was interrupted, or if
every spec was refused; a dry run has the code that it foresees.

example: qrow prewarm --model tests/cases/models/qwen3.6-35b-a3b.json --tp 1,2 --kv bf16,e4m3 --arch sm_90a,sm_120a
)";

// A kernel per line that compiling would make or that is already there. The cache is only looked
// at.
int dry_run(KernelProvider& provider, const std::vector<PrewarmItem>& items, PrewarmReport& report,
            Output& output) {
  std::set<std::string> seen;
  for (const PrewarmItem& item : items) {
    std::unique_ptr<Cubin> stored;
    bool repeats = !seen.insert(item.key.text).second;
    if (!repeats) stored = provider.peek(item.variant);
    report.planned(item, stored.get(), repeats);
  }
  report.planned_totals();
  if (provider.cache_only() && report.num_missing() > 0) {
    output.error(
        "prewarm: {} kernels would have to be compiled, and QROW_JIT=cache_only forbids that: a "
        "prewarm needs it unset or 'on'",
        report.num_missing());
    return kExitFailed;
  }
  return items.empty() && report.num_refused() > 0 ? kExitFailed : kExitDone;
}

// Before minutes of compiling go to nowhere.
void require_cache(KernelProvider& provider) {
  const KernelStore* store = provider.layers().user();
  if (store == nullptr) fail(Status::cache, "there is no cache to compile into");
  if (!store->available())
    fail(Status::cache, "the cache '{}' cannot be written, so nothing was compiled: {}",
         store->path(), store->unavailable_reason());
}

int exit_code_of(const PrewarmTotals& totals, int refused) {
  if (totals.failed > 0)
    return totals.first_failure == Status::no_compiler ? kExitLacks : kExitFailed;
  if (totals.cancelled) return kExitFailed;
  return totals.items == 0 && refused > 0 ? kExitFailed : kExitDone;
}

int run(Arguments& arguments, Output& output) {
  PrewarmRequest request = prewarm_request(arguments, output);
  std::vector<PrewarmItem> items = list_prewarm(request.cases, request.archs, request.shard);
  // A forced tuning that is not legal is a mistake of the line, told before anything is printed;
  // what no family can do is a fact to report.
  for (const PrewarmItem& item : items) {
    if (item.refusal_status == Status::invalid_argument)
      throw Error(item.refusal_status, item.refusal);
  }
  PrewarmReport report(output, request.models);
  std::vector<PrewarmItem> able;
  for (PrewarmItem& item : items) {
    if (item.refusal.empty()) {
      able.push_back(std::move(item));
    } else {
      report.refused(item.case_line, item.arch->name, item.refusal);
    }
  }
  report.tell_refused();
  // A look makes no file.
  if (request.dry_run)
    request.provider.cache_off = !file_exists(resolve_cache_path(request.provider.cache_path));
  KernelProvider provider(request.provider);
  if (request.dry_run) return dry_run(provider, able, report, output);
  require_cache(provider);

  PrewarmRun run;
  run.threads = request.threads;
  run.refresh = request.refresh;
  run.cancel = &interrupted();
  run.on_item = [&](const PrewarmOutcome& outcome) { report.done(outcome); };
  output.progress(0, static_cast<int>(able.size()), "starting");
  PrewarmTotals totals = prewarm(provider, able, run);
  output.end_progress();
  report.totals(totals);
  return exit_code_of(totals, report.num_refused());
}

}  // namespace

extern const Command kPrewarmCommand;
const Command kPrewarmCommand = {"prewarm", "compile kernels into the cache, without a GPU", kUsage,
                                 run};

}  // namespace qrow
