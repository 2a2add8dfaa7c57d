// Writes the translation unit of a variant: about ten lines that include the template, state the
// kernel spec, tuning and target as constants, assert that host and device agree about shared
// memory, and define one extern "C" kernel.
#pragma once

#include <string>

#include "jit/key.hpp"

namespace qrow {

// "qrow_decode_mma_1f3a9c20": the key's first eight hex digits tell variants apart in a profiler.
std::string entry_name(const Variant& variant, const Key& key);

// Locale-independent. Only integers and names from the family's own tables reach the text.
std::string entry_text(const Variant& variant, const Key& key);

}  // namespace qrow
