// Which fill kernel to ask for. Stateless.
#pragma once

#include "jit/family.hpp"

namespace qrow {

// Standard normal values of `dtype` (DType).
Variant synthetic_normal(int dtype, const Arch& arch);
// One byte value in a list of ranges.
Variant synthetic_bytes(const Arch& arch);

}  // namespace qrow
