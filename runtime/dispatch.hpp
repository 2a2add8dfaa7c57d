// Which family and tuning serve a spec, and which kernels that takes. Pure: no GPU, no disk, no compiler.
#pragma once

#include <string>
#include <vector>

#include "jit/family.hpp"

namespace qrow {

struct Verdict {
  const Family* family = nullptr;
  Support support;
  int rank = 0;  // where able
};
// Of every attention family, in dispatch order: able ones by rank, then the others.
std::vector<Verdict> ask_families(const Spec& spec, const Arch& arch, const Bucket& bucket);

enum class TuningSource : int { fallback = 1, nearest = 2, exact = 3, forced = 4 };  // = qrow_tuning_source

struct Choice {
  const Family* family = nullptr;
  Tuning tuning;
  TuningSource source = TuningSource::fallback;
};
// `family` and `tuning` force a choice where not empty. Throws Error(unsupported) with each family's reason, or
// Error(invalid_argument) for an illegal forced tuning.
Choice choose(const Spec& spec, const Arch& arch, const Bucket& bucket, const std::string& family = {},
              const std::string& tuning = {});

// The kernels that a run of this choice may launch, the attention kernel first, then combine.
std::vector<Variant> variants_of(const Spec& spec, const Choice& choice, const Arch& arch);

Bucket bucket_of(const Spec& spec, int batch, long long max_kv_len, int rows, long long window);
// Every bucket for which default_tuning may differ, for prewarm and for plans without a workload.
std::vector<Bucket> all_buckets(const Spec& spec);

}  // namespace qrow
