// Between qrow_spec of the C API and Spec inside.
#pragma once

#include "jit/spec.hpp"
#include "runtime/include/qrow/qrow.h"

namespace qrow {

// Fills in every default and checks the numbers. Throws Error(invalid_argument) naming the field.
// `spec` must be whole: struct_size is not looked at.
Spec to_spec(const qrow_spec& spec);
qrow_spec from_spec(const Spec& spec);

}  // namespace qrow
