// A variant of a family that does not exist: goldens of key and entry must not change with a
// template.
#pragma once

#include "jit/family.hpp"

namespace qrow {

inline Variant variant_for_tests() {
  Variant v;
  v.family = "decode_sample";
  v.spec_type = "SampleSpec";
  v.tuning_type = "SampleTuning";
  v.params_type = "SampleParams";
  v.spec = {{"q_dtype", 1}, {"head_dim", 128}, {"page_size", 123456}};
  v.tuning = {{"tile_tokens", 64}, {"num_stages", 3}};
  v.arch = &arch_by_name("sm_90a");
  v.register_cap = 168;
  v.threads = 128;
  v.smem_bytes = 32768;
  v.has_smem_check = true;
  return v;
}

}  // namespace qrow
