// Which kernels the tests of code quality compile: each one once, with a line that says what asked
// for it.
#pragma once

#include <string>
#include <vector>

#include "jit/family.hpp"
#include "jit/key.hpp"
#include "runtime/case.hpp"

namespace qrow {

struct GridItem {
  Variant variant;
  Key key;
  std::string wanted_by;  // a case line, or the family for kernels of tools
};

struct Grid {
  std::vector<GridItem> items;        // distinct keys
  std::vector<std::string> refusals;  // cases that no family takes, with the reasons
};

// The kernels of `cases` on `arch` (the default of the bucket with all rows), and of the tool and
// reference families.
Grid make_grid(const std::vector<Case>& cases, const Arch& arch);

// Groups 1 to 24 x rows 1 to 8 x head dimensions x KV types.
std::vector<Case> wide_cases();

// Does an earlier row of arch.def have the same generation, features and limits? Then its code is
// nearly the same, though not quite: sm_103a has other double-precision units than sm_100a.
bool has_twin(const Arch& arch);

}  // namespace qrow
