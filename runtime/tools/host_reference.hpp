// Paged decode attention in straight loops on the host, in double: what the reference kernel is
// checked against, on small shapes. All pointers of the arguments are host memory here.
#pragma once

#include <vector>

#include "jit/spec.hpp"
#include "runtime/include/qrow/qrow.h"

namespace qrow {

// One stored element (bf16, f16, f32, e4m3, e5m2, int8) as a double. `dtype` is a DType.
double stored_number(const void* element, int dtype);

// [batch * rows, q heads, head_dim_v] and [batch * rows, q heads], the latter empty without LSE.
struct ReferenceResult {
  std::vector<double> out;
  std::vector<float> lse;
};

// Masks causal and none; scales none, tensor and head; dense tables. A request longer than
// max_kv_len gives NaN rows.
ReferenceResult host_reference(const Spec& spec, const qrow_args& args);

}  // namespace qrow
