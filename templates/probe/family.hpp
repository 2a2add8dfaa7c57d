// Which probe kernel to ask for. Stateless.
#pragma once

#include "jit/family.hpp"
#include "templates/probe/config.cuh"

namespace qrow {

// REQUIRES: sm_90 or later.
Variant probe_variant(ProbeOperation operation, const Arch& arch);

}  // namespace qrow
