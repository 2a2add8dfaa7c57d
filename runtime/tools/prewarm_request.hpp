// What `qrow prewarm` is asked for, read from its arguments.
#pragma once

#include <vector>

#include "runtime/prewarm.hpp"
#include "runtime/tools/arguments.hpp"
#include "runtime/tools/model_config.hpp"
#include "runtime/tools/output.hpp"

namespace qrow {

struct PrewarmRequest {
  std::vector<Case> cases;
  std::vector<Model> models;  // that `cases` came from in part
  std::vector<const Arch*> archs;
  Shard shard;
  int threads = 0;
  bool dry_run = false;
  bool refresh = false;
  ProviderOptions provider;
};

// Throws Error(invalid_argument) naming the option or word that is wrong.
PrewarmRequest prewarm_request(Arguments& arguments, Output& output);

// "2/3": the second of three parts (index 1). Throws Error(invalid_argument).
Shard parse_shard(std::string_view text);

// "bf16,e4m3" as DType values. Throws Error(invalid_argument).
std::vector<int> parse_kv_dtypes(const std::vector<std::string>& words);

}  // namespace qrow
