#include "runtime/tools/workbench_bench.hpp"

namespace qrow {

BenchResult bench_case(WorkbenchDevice& device, const ApiContext& context,
                       const ProviderOptions& provider, ReadCeiling& ceiling, const Case& c,
                       const BenchOptions& options) {
  const ApiPlan plan(context, c);
  const qrow_plan_info info = plan.info();
  BenchResult result;
  result.family = info.family;
  result.tuning = info.tuning;
  result.key = info.key;
  result.registers = info.registers;
  result.smem_bytes = info.smem_bytes;
  result.blocks_per_sm = info.blocks_per_sm;
  {
    const int num_sets = num_rotating_sets(CaseData::pool_bytes(c), device.info().l2_bytes);
    CaseData data(device, c, num_sets);
    const qrow_args args = data.args();
    result.num_sets = num_sets;
    result.bytes = data.bytes_per_call();
    result.workspace_bytes = plan.workspace_bytes(args.batch, args.max_kv_len);
    const DeviceBuffer workspace = make_poisoned_workspace(device.driver(), result.workspace_bytes);
    if (options.check) {
      plan.run(args, workspace, device.stream());
      result.comparison = compare(device, data, compute_reference(device, c.spec, args));
      result.verdict = judge(*result.comparison, error_limits(c.spec));
    }
    result.us = median_call_microseconds(
        device, calls_per_graph(num_sets), kReplays,
        [&](int call) { plan.run(data.args(call % num_sets), workspace, device.stream()); });
    result.gbps = static_cast<double>(result.bytes) / result.us / 1000;
    if (options.host_time) result.host_time = measure_host_time(device, context, provider, data);
  }  // the data is freed before the ceiling's is made
  if (options.ceiling) result.ceiling_gbps = ceiling.gbps(result.bytes);
  return result;
}

}  // namespace qrow
