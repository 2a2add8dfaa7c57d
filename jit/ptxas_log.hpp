// Reads what the assembler says about a kernel (--ptxas-options=-v). Spill bytes are found nowhere
// else.
#pragma once

#include <optional>
#include <string_view>

#include "jit/cubin_info.hpp"

namespace qrow {

// Nothing if the log does not speak of `kernel` in the form that we know. Spills and stack are
// those of the kernel and of the functions that were compiled with it and not inlined: one kernel a
// translation unit.
std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view kernel);

}  // namespace qrow
