// The ordered list of kernel families (families.def). Order is the tie order of dispatch.
#pragma once

#include <span>
#include <string_view>

#include "jit/family.hpp"

namespace qrow {

std::span<const Family* const> families();
// Null if there is none of that name.
const Family* family_by_name(std::string_view name);

}  // namespace qrow
