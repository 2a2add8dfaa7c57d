// `qrow bench`: times cases with cold caches and checks them. One failing case never ends the run.
#include "runtime/tools/command.hpp"
#include "runtime/tools/interrupt.hpp"
#include "runtime/tools/shared_arguments.hpp"
#include "runtime/tools/workbench_bench.hpp"
#include "runtime/tools/workbench_cases.hpp"
#include "runtime/tools/workbench_peers.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow bench CASE... [--cases FILE] [options]

Times each case on the GPU: a CUDA graph of at least 12 calls over rotating KV sets larger than L2, median of 9 replays.
Prints microseconds, GB/s (live KV, Q and O), percent of this device's read ceiling over as many bytes, and the
relative L2 error against float64. Exit code 1 if a case fails or its error is above the limit; the others still run.

  --cases FILE         case lines from a file; may be repeated
  --against FILE       timings of other kernels (JSON list of case, method, us) to print beside
  --host-time          also the host time of a hit, beside bare launches of the same kernels
  --no-check           do not compare with the reference
  --no-ceiling         do not measure the read ceiling
  --device N           ordinal of the GPU; default 0

example: qrow bench "heads=64/8 rows=4 page=64 kv=e4m3 batch=128 len=2048" --host-time
)";

struct Sweep {
  std::vector<Case> cases;
  std::vector<PeerTiming> peers;
  BenchOptions options;
};

JsonObject make_record(const std::string& line, const BenchResult& r) {
  JsonObject record;
  record.add("case", line).add("us", r.us).add("gbps", r.gbps);
  if (r.ceiling_gbps > 0) record.add("ceiling_gbps", r.ceiling_gbps);
  if (r.comparison) {
    record.add("err", r.comparison->err).add("err_row", r.comparison->err_row);
    record.add("passed", r.verdict.empty());
  }
  record.add("method", "qrow").add("family", r.family).add("tuning", r.tuning).add("key", r.key);
  record.add("registers", r.registers)
      .add("smem_bytes", r.smem_bytes)
      .add("blocks_per_sm", r.blocks_per_sm);
  record.add("kv_sets", r.num_sets).add("workspace_bytes", r.workspace_bytes);
  if (r.host_time) {
    record.add("host_plan_run_us", r.host_time->plan_run_us)
        .add("host_decode_us", r.host_time->decode_us);
    record.add("host_bare_us", r.host_time->bare_us).add("kernels_per_call", r.host_time->kernels);
  }
  return record;
}

void print_text(Output& output, const std::string& line, const BenchResult& r,
                const std::vector<PeerTiming>& peers) {
  std::string share =
      r.ceiling_gbps > 0 ? fmt::format("{:5.1f} %", 100 * r.gbps / r.ceiling_gbps) : "      -";
  std::string errors =
      r.comparison ? fmt::format("{:9.2e} {:9.2e}", r.comparison->err, r.comparison->err_row)
                   : fmt::format("{:>9} {:>9}", "-", "-");
  output.line("{:9.1f} us {:6.0f} GB/s {} {}  {}", r.us, r.gbps, share, errors, line);
  output.detail("             {} {}, {} registers, {} blocks per SM", r.family, r.tuning,
                r.registers, r.blocks_per_sm);
  if (!r.verdict.empty()) output.line("             FAILED: {}", r.verdict);
  if (r.host_time) {
    output.line(
        "             host: plan_run {:.2f} us, decode {:.2f} us, bare launches of the same {} "
        "kernels {:.2f} us",
        r.host_time->plan_run_us, r.host_time->decode_us, r.host_time->kernels,
        r.host_time->bare_us);
  }
  for (const PeerTiming& peer : peers) {
    if (peer.case_line == line)
      output.line("{:9.1f} us {:>6.2f} x of ours    {}", peer.us, peer.us / r.us, peer.method);
  }
}

// Number of cases that failed.
int run_sweep(WorkbenchDevice& device, const ApiContext& context, const ProviderOptions& provider,
              const Sweep& sweep, Output& output) {
  ReadCeiling ceiling(device);
  int failures = 0;
  output.line("{:>12} {:>11} {:>7} {:>9} {:>9}  case", "time", "rate", "ceiling", "err", "err_row");
  for (const Case& c : sweep.cases) {
    if (interrupted()) fail(Status::cancelled, "stopped by the user");
    const std::string line = format_case(c);
    try {
      const BenchResult result = bench_case(device, context, provider, ceiling, c, sweep.options);
      failures += result.verdict.empty() ? 0 : 1;
      print_text(output, line, result, sweep.peers);
      output.record(make_record(line, result));
    } catch (const Error& error) {
      ++failures;
      output.error("{}: {}", line, error.what());
      JsonObject record;
      output.record(record.add("case", line).add("error", error.what()));
      if (!device.usable())
        fail(Status::driver,
             "the CUDA context no longer works after this case: the cases after it were not run");
    }
  }
  return failures;
}

int run(Arguments& arguments, Output& output) {
  const ProviderOptions provider = provider_options(arguments, output);
  Sweep sweep;
  sweep.options.host_time = arguments.flag("--host-time");
  sweep.options.check = !arguments.flag("--no-check");
  sweep.options.ceiling = !arguments.flag("--no-ceiling");
  const int ordinal = arguments.integer("--device", 0, 0, 1023);
  const std::vector<std::string> files = arguments.values("--cases");
  const std::vector<std::string> against = arguments.values("--against");
  sweep.cases = cases_from(arguments.words(), files);
  require_workloads(sweep.cases);
  for (const std::string& path : against) {
    for (PeerTiming& peer : read_peers(path)) sweep.peers.push_back(std::move(peer));
  }

  WorkbenchDevice device(ordinal, provider);
  const ApiContext context(ordinal, provider);
  output.note("{}, {} SMs, {} MB of L2, {}", device.info().name, device.info().num_sms,
              device.info().l2_bytes >> 20, device.arch().name);
  const int failures = run_sweep(device, context, provider, sweep, output);
  if (failures == 0) return kExitDone;
  output.error("{} of {} cases failed", failures, sweep.cases.size());
  return kExitFailed;
}

}  // namespace

extern const Command kBenchCommand;
const Command kBenchCommand = {"bench", "time cases on the GPU, caches cold, and check them",
                               kUsage, run};

}  // namespace qrow
