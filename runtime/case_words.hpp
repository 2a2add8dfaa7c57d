// The table behind the case line: one row per word, in the documented order, which is the canonical
// order.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/case.hpp"

namespace qrow {

struct CaseWord {
  std::string_view key;
  // Throws Error(invalid_argument) naming the word and listing what is legal.
  void (*read)(Case& c, std::string_view key, std::string_view value);
  // "" for the default, which is left out of the line.
  std::string (*write)(const Case& c);
};

std::span<const CaseWord> case_words();

}  // namespace qrow
