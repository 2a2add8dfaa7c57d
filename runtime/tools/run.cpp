// `qrow run`: one call on the device, or on the CPU, checked against float64.
#include <filesystem>
#include <optional>

#include "runtime/emulator/driver.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/emulated_device.hpp"
#include "runtime/tools/scratch_folder.hpp"
#include "runtime/tools/shared_arguments.hpp"
#include "runtime/tools/workbench_call.hpp"
#include "runtime/tools/workbench_cases.hpp"
#include "runtime/tools/workbench_compare.hpp"
#include "runtime/tools/workbench_timing.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow run CASE [--device N | --emulate]

Runs one call of the case on the GPU with generated data (normal values, scores of deviation 1; dead slots, block 0 and
the workspace hold NaN) and compares output and LSE with a float64 reference. Prints the relative L2 error, the
largest error of one row, and the time of a call with warm caches. Exit code 1 if an error is above its limit.

  --emulate   runs the same kernels on the CPU, thread by thread, as an sm_90a would; also reports races, accesses out of
              bounds and the like. Tells nothing about time. A few small cases are built in; for others g++ or clang++
              must be installed (exit code 3 if neither is). Takes a second for 10,000 tokens and heads, about

example: qrow run "heads=64/8 rows=4 page=64 kv=e4m3 batch=8 len=4096"
example: qrow run --emulate "heads=8/2 rows=4 batch=2 len=300,77"
)";

struct RunResult {
  Comparison comparison;
  ErrorLimits limits;
  std::string verdict;  // "" within the limits
  std::optional<double> us;
  std::size_t workspace_bytes = 0;
};

// On the CPU the yardstick is plain loops, and time means nothing.
RunResult run_case(WorkbenchDevice& device, const ApiPlan& plan, const Case& c, bool emulated) {
  CaseData data(device, c);
  const qrow_args args = data.args();
  RunResult result;
  result.workspace_bytes = plan.workspace_bytes(args.batch, args.max_kv_len);
  const DeviceBuffer workspace = make_poisoned_workspace(device.driver(), result.workspace_bytes);
  plan.run(args, workspace, device.stream());
  const ReferenceResult reference = emulated ? host_reference(c.spec, data.download().args)
                                             : compute_reference(device, c.spec, args);
  result.comparison = compare(device, data, reference);
  result.limits = error_limits(c.spec);
  result.verdict = judge(result.comparison, result.limits);
  if (emulated) return result;
  result.us = median_call_microseconds(device, kCallsPerGraph, kReplays,
                                       [&](int) { plan.run(args, workspace, device.stream()); });
  return result;
}

void print_text(Output& output, const Case& c, const qrow_plan_info& info,
                const RunResult& result) {
  output.line("{}", format_case(c));
  output.detail("  kernel   {} {} {}, key {}{}", info.family, info.tuning, info.arch, info.key,
                result.us ? fmt::format(", {} registers, {} bytes of shared memory", info.registers,
                                        info.smem_bytes)
                          : "");
  output.line("  err      {:.2e} (limit {:.1e})", result.comparison.err, result.limits.err);
  output.line("  err_row  {:.2e} (limit {:.1e}), row {} head {}", result.comparison.err_row,
              result.limits.err_row, result.comparison.worst_row, result.comparison.worst_head);
  if (c.spec.lse != Lse::off)
    output.line("  err_lse  {:.2e} (limit {:.1e})", result.comparison.err_lse,
                result.limits.err_lse);
  if (result.us) output.line("  time     {:.1f} us, caches warm", *result.us);
}

JsonObject record_of(const Case& c, const qrow_plan_info& info, const RunResult& result) {
  JsonObject record;
  record.add("case", format_case(c))
      .add("family", info.family)
      .add("tuning", info.tuning)
      .add("key", info.key);
  record.add("err", result.comparison.err).add("err_row", result.comparison.err_row);
  if (c.spec.lse != Lse::off) record.add("err_lse", result.comparison.err_lse);
  if (result.us) record.add("us", *result.us);
  record.add("workspace_bytes", result.workspace_bytes);
  record.add("passed", result.verdict.empty()).add("verdict", result.verdict);
  return record;
}

void report_emulation(Output& output, const Emulation& emulation, JsonObject& record) {
  const emulator::Report report = emulator::EmulatedDriver::get().take_report();
  const std::string kernels = emulation.built_in       ? "built-in kernels"
                              : emulation.compiled > 0 ? "kernels compiled for it now"
                                                       : "kernels compiled for it before";
  output.line("  device   this CPU, {}: {} blocks run, no fault found", kernels, report.blocks);
  output.detail("  banks    {} extra passes over shared memory for conflicts",
                report.bank_conflicts);
  record.add("emulated", true)
      .add("blocks", report.blocks)
      .add("bank_conflicts", report.bank_conflicts);
}

int run_on(int ordinal, const ProviderOptions& options, const Case& c, Output& output,
           const Emulation* emulation) {
  WorkbenchDevice device(ordinal, options);
  const ApiContext context(ordinal, options);
  const ApiPlan plan(context, c);
  const RunResult result = run_case(device, plan, c, emulation != nullptr);
  const qrow_plan_info info = plan.info();
  print_text(output, c, info, result);
  JsonObject record = record_of(c, info, result);
  if (emulation != nullptr) report_emulation(output, *emulation, record);
  output.line("  {}", result.verdict.empty() ? "passed" : "FAILED: " + result.verdict);
  output.record(record);
  return result.verdict.empty() ? kExitDone : kExitFailed;
}

int run(Arguments& arguments, Output& output) {
  const ProviderOptions options = provider_options(arguments, output);
  const bool emulate = arguments.flag("--emulate");
  const int ordinal = emulate ? 0 : arguments.integer("--device", 0, 0, 1023);
  const std::vector<Case> cases = cases_from(arguments.words(), {});
  if (cases.size() != 1)
    fail(Status::invalid_argument,
         "{} cases were given: 'qrow run' takes one, 'qrow bench' takes many", cases.size());
  require_workloads(cases);
  const Case& c = cases.front();
  if (!emulate) return run_on(ordinal, options, c, output, nullptr);
  const ScratchFolder folder((std::filesystem::temp_directory_path() / "qrow-").string());
  const Emulation emulation = start_emulation(c, folder.path());
  return run_on(ordinal, emulation.provider, c, output, &emulation);
}

}  // namespace

extern const Command kRunCommand;
const Command kRunCommand = {"run", "run one case on the GPU and check it against float64", kUsage,
                             run};

}  // namespace qrow
