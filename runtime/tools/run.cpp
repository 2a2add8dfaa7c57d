// `qrow run`: one call on the device, checked against the float64 reference.
#include "runtime/tools/command.hpp"
#include "runtime/tools/shared_arguments.hpp"
#include "runtime/tools/workbench_call.hpp"
#include "runtime/tools/workbench_cases.hpp"
#include "runtime/tools/workbench_compare.hpp"
#include "runtime/tools/workbench_timing.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow run CASE [--device N]

Runs one call of the case on the GPU with generated data (normal values, scores of deviation 1; dead slots, block 0 and
the workspace hold NaN) and compares output and LSE with a float64 reference. Prints the relative L2 error, the
largest error of one row, and the time of a call with warm caches. Exit code 1 if an error is above its limit.

example: qrow run "heads=64/8 rows=4 page=64 kv=e4m3 batch=8 len=4096"
)";

struct RunResult {
  Comparison comparison;
  ErrorLimits limits;
  std::string verdict;  // "" within the limits
  double us = 0;
  std::size_t workspace_bytes = 0;
};

RunResult run_case(WorkbenchDevice& device, const ApiPlan& plan, const Case& c) {
  CaseData data(device, c);
  const qrow_args args = data.args();
  RunResult result;
  result.workspace_bytes = plan.workspace_bytes(args.batch, args.max_kv_len);
  const DeviceBuffer workspace = make_poisoned_workspace(device.driver(), result.workspace_bytes);
  plan.run(args, workspace, device.stream());
  result.comparison = compare(device, data, compute_reference(device, c.spec, args));
  result.limits = error_limits(c.spec);
  result.verdict = judge(result.comparison, result.limits);
  result.us = median_call_microseconds(device, kCallsPerGraph, kReplays,
                                       [&](int) { plan.run(args, workspace, device.stream()); });
  return result;
}

void print_text(Output& output, const Case& c, const qrow_plan_info& info,
                const RunResult& result) {
  output.line("{}", format_case(c));
  output.detail("  kernel   {} {} {}, key {}, {} registers, {} bytes of shared memory", info.family,
                info.tuning, info.arch, info.key, info.registers, info.smem_bytes);
  output.line("  err      {:.2e} (limit {:.1e})", result.comparison.err, result.limits.err);
  output.line("  err_row  {:.2e} (limit {:.1e}), row {} head {}", result.comparison.err_row,
              result.limits.err_row, result.comparison.worst_row, result.comparison.worst_head);
  if (c.spec.lse != Lse::off)
    output.line("  err_lse  {:.2e} (limit {:.1e})", result.comparison.err_lse,
                result.limits.err_lse);
  output.line("  time     {:.1f} us, caches warm", result.us);
  output.line("  {}", result.verdict.empty() ? "passed" : "FAILED: " + result.verdict);
}

int run(Arguments& arguments, Output& output) {
  const ProviderOptions options = provider_options(arguments, output);
  const int ordinal = arguments.integer("--device", 0, 0, 1023);
  const std::vector<Case> cases = cases_from(arguments.words(), {});
  if (cases.size() != 1)
    fail(Status::invalid_argument,
         "{} cases were given: 'qrow run' takes one, 'qrow bench' takes many", cases.size());
  require_workloads(cases);
  const Case& c = cases.front();

  WorkbenchDevice device(ordinal, options);
  const ApiContext context(ordinal, options);
  const ApiPlan plan(context, c);
  const RunResult result = run_case(device, plan, c);
  const qrow_plan_info info = plan.info();
  print_text(output, c, info, result);
  JsonObject record;
  record.add("case", format_case(c))
      .add("family", info.family)
      .add("tuning", info.tuning)
      .add("key", info.key);
  record.add("err", result.comparison.err).add("err_row", result.comparison.err_row);
  if (c.spec.lse != Lse::off) record.add("err_lse", result.comparison.err_lse);
  record.add("us", result.us).add("workspace_bytes", result.workspace_bytes);
  record.add("passed", result.verdict.empty()).add("verdict", result.verdict);
  output.record(record);
  return result.verdict.empty() ? kExitDone : kExitFailed;
}

}  // namespace

extern const Command kRunCommand;
const Command kRunCommand = {"run", "run one case on the GPU and check it against float64", kUsage,
                             run};

}  // namespace qrow
