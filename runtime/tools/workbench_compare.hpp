// A call's result against the reference kernel's, in double.
#pragma once

#include <string>
#include <vector>

#include "runtime/tools/host_reference.hpp"
#include "runtime/tools/workbench_data.hpp"

namespace qrow {

struct Comparison {
  double err =
      0;  // relative L2 over all rows; infinite where a value is wrong in kind (NaN, not exactly 0)
  double err_row = 0;        // largest relative L2 of one row
  double err_lse = 0;        // largest absolute difference, natural log; 0 without LSE
  long long worst_row = -1;  // [batch * rows], of err_row
  int worst_head = -1;
};

// What a call of this spec may be off by: fp32 sums with f16 products, or with bf16 P where KV is
// bf16, and the rounding of the output's type on top.
struct ErrorLimits {
  double err = 0;
  double err_row = 0;
  double err_lse = 0;
};
ErrorLimits error_limits(const Spec& spec);
// "" within the limits, else a sentence with figures.
std::string judge(const Comparison& comparison, const ErrorLimits& limits);

// Runs the reference kernel; the result comes to the host.
ReferenceResult compute_reference(WorkbenchDevice& device, const Spec& spec, const qrow_args& args);

// Compares what `data` holds as output with `reference`. Waits for the device.
Comparison compare(WorkbenchDevice& device, const CaseData& data, const ReferenceResult& reference);

}  // namespace qrow
