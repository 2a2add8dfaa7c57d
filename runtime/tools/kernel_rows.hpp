// Stored kernels as the commands show them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cache/kernel_store.hpp"
#include "runtime/tools/json_writer.hpp"

namespace qrow {

JsonObject row_record(const KernelRow& row);

// The words of a key's text (jit/key.hpp) as name and value: {"arch", "sm_90a"}, {"spec.head_dim",
// "128"}, ...
std::vector<std::pair<std::string, std::string>> key_words(const std::string& text);

// One word in which two keys differ; "" where one of them lacks it.
struct KeyDifference {
  std::string field;
  std::string asked;
  std::string stored;
};
std::vector<KeyDifference> key_differences(const std::string& asked, const std::string& stored);

}  // namespace qrow
