// How a test case says that this machine cannot run it.
#pragma once

#include <string>

namespace qrow {

// Counts the running case as skipped, never as passed; a check that failed before still counts as
// failed. Return from the case after the call. `reason` says what is missing: "no CUDA device".
void skip_case(const std::string& reason);

}  // namespace qrow
