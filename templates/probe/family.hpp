// Which probe kernel to ask for. Stateless.
#pragma once

#include "jit/family.hpp"
#include "templates/probe/config.cuh"

namespace qrow {

// REQUIRES: an arch with Target::e4m3_convert for e4m3x4_to_f16.
Variant probe_variant(ProbeOperation operation, const Arch& arch);

}  // namespace qrow
