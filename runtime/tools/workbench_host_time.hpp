// What a hit costs on the host, beside bare launches of the same kernels: `qrow bench --host-time`.
#pragma once

#include "runtime/tools/workbench_call.hpp"
#include "runtime/tools/workbench_data.hpp"

namespace qrow {

struct HostTime {  // median microseconds of one call, all of its kernels included
  double plan_run_us = 0;
  double decode_us = 0;
  double bare_us = 0;  // cuLaunchKernelEx of the same kernels with ready-made parameters
  int kernels = 0;     // per call
};

HostTime measure_host_time(WorkbenchDevice& device, const ApiContext& context,
                           const ProviderOptions& options, const CaseData& data);

}  // namespace qrow
