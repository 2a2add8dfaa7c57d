// Cases from a command line: quoted or bare words, and files of case lines.
#pragma once

#include <string>
#include <vector>

#include "runtime/case.hpp"

namespace qrow {

// Each word that holds "heads=" begins a case; words after it without belong to it, so that quotes
// are not needed. Then the lines of `files`. Throws Error(invalid_argument) naming the word, or if
// there is no case at all.
std::vector<Case> cases_from(const std::vector<std::string>& words,
                             const std::vector<std::string>& files);

// Throws Error(invalid_argument) for a case that names a spec alone: it can be compiled, but not
// run.
void require_workloads(const std::vector<Case>& cases);

}  // namespace qrow
