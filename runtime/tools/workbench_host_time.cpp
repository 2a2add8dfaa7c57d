#include "runtime/tools/workbench_host_time.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "runtime/context.hpp"

namespace qrow {
namespace {

// Calls between two waits: few enough that the driver's launch queue never fills and makes the host
// wait for the device.
constexpr int kCallsPerRound = 32;
constexpr int kRounds = 60;

double median_microseconds(const WorkbenchDevice& device, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kCallsPerRound; ++i) call();
    const std::chrono::duration<double, std::micro> passed = Clock::now() - begin;
    times.push_back(passed.count() / kCallsPerRound);
    device.synchronize();
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

CUlaunchConfig launch_config(const KernelLaunch& kernel, unsigned grid_x, unsigned grid_y,
                             CUstream stream, CUlaunchAttribute* overlap) {
  CUlaunchConfig config{};
  config.gridDimX = grid_x;
  config.gridDimY = grid_y;
  config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(kernel.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(kernel.smem_bytes);
  config.hStream = stream;
  config.attrs = overlap;
  config.numAttrs = overlap != nullptr ? 1 : 0;
  return config;
}

// Everything but the launches is done once, outside the timed part.
void measure_bare(const WorkbenchDevice& device, const ProviderOptions& options,
                  const CaseData& data, void* workspace, HostTime& result) {
  const Case& c = data.description();
  ContextOptions context_options;
  context_options.device = device.info().ordinal;
  context_options.provider = options;
  Context context(context_options);
  PlanWorkload workload;
  workload.batch = c.batch;
  workload.max_kv_len = c.max_len();
  workload.splits = c.splits;
  workload.family = c.family;
  workload.tuning = c.tuning;
  const std::unique_ptr<const Plan> plan = context.make_plan(c.spec, &workload);
  const Launch& launch = plan->described().launch;

  const qrow_args args = data.args();
  const CheckedArgs checked = check_args(c.spec, args);
  const GridQuery query{device.info().num_sms, c.spec.num_kv_heads, c.batch, checked.max_kv_len,
                        c.splits};
  const Grid grid = grid_of(launch.geometry, &launch.combine_geometry, query);
  DecodeParams params = decode_params(c.spec, checked, launch.geometry, grid, workspace);

  CUlaunchAttribute overlap{};
  overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  overlap.value.programmaticStreamSerializationAllowed = 1;
  void* arguments[] = {&params};
  const Driver& driver = device.driver();
  const CUlaunchConfig attention = launch_config(
      launch.attention, static_cast<unsigned>(grid.num_blocks), 1, device.stream(), nullptr);
  result.kernels = grid.combine ? 2 : 1;
  if (!grid.combine) {
    result.bare_us = median_microseconds(device, [&] {
      driver.check(driver->cuLaunchKernelEx(&attention, launch.attention.module->function(),
                                            arguments, nullptr),
                   "cuLaunchKernelEx");
    });
    return;
  }
  const CUlaunchConfig combine =
      launch_config(launch.combine, grid.combine_x, grid.combine_y, device.stream(),
                    launch.programmatic_launch ? &overlap : nullptr);
  result.bare_us = median_microseconds(device, [&] {
    driver.check(driver->cuLaunchKernelEx(&attention, launch.attention.module->function(),
                                          arguments, nullptr),
                 "cuLaunchKernelEx");
    driver.check(
        driver->cuLaunchKernelEx(&combine, launch.combine.module->function(), arguments, nullptr),
        "cuLaunchKernelEx");
  });
}

}  // namespace

HostTime measure_host_time(WorkbenchDevice& device, const ApiContext& context,
                           const ProviderOptions& options, const CaseData& data) {
  const Case& c = data.description();
  const ApiCase api(c);
  const ApiPlan plan(context, c);
  const qrow_args args = data.args();
  std::size_t decode_bytes = 0;
  check_api(
      qrow_workspace_bytes(context.get(), &api.spec, c.batch, args.max_kv_len, &decode_bytes));
  const std::size_t bytes = std::max(plan.workspace_bytes(c.batch, args.max_kv_len), decode_bytes);
  const DeviceBuffer workspace = make_poisoned_workspace(device.driver(), bytes);

  HostTime result;
  result.plan_run_us =
      median_microseconds(device, [&] { plan.run(args, workspace, device.stream()); });
  result.decode_us = median_microseconds(device, [&] {
    check_api(qrow_decode(context.get(), &api.spec, &args, workspace.as(), workspace.size(),
                          device.stream()));
  });
  measure_bare(device, options, data, workspace.as(), result);
  return result;
}

}  // namespace qrow
