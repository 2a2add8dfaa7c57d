// Which family and tuning serve a spec, and which kernels that takes. Pure: no GPU, no disk, no
// compiler.
#pragma once

#include <cstddef>
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

enum class TuningSource : int {
  fallback = 1,
  nearest = 2,
  exact = 3,
  forced = 4
};  // = qrow_tuning_source

struct Choice {
  const Family* family = nullptr;
  Tuning tuning;
  TuningSource source = TuningSource::fallback;
  // Merges what the attention kernel leaves; null where that never leaves anything.
  const Family* combine = nullptr;
  Tuning combine_tuning;
};
// Do both come down to the same kernels? Where the tuning came from does not matter.
bool same_kernels(const Choice& a, const Choice& b);

// `family` and `tuning` force a choice where not empty. Throws Error(unsupported) with each
// family's reason, or Error(invalid_argument) for an illegal forced tuning.
Choice choose(const Spec& spec, const Arch& arch, const Bucket& bucket,
              const std::string& family = {}, const std::string& tuning = {});

// The kernels that a run of this choice may launch, the attention kernel first, then combine.
std::vector<Variant> variants_of(const Spec& spec, const Choice& choice, const Arch& arch);

// Batch and length are classed by powers of two within these bounds, rows exactly; beyond a bound
// its last class serves.
inline constexpr int kBucketBatches = 13;  // 1 .. 4096
inline constexpr int kBucketLengths = 15;  // 256 .. 4194304

// `rows` 0: max_rows; `window` counts where spec.window is set; `batch` and `max_kv_len` 0: the
// smallest class.
Bucket bucket_of(const Spec& spec, int batch, long long max_kv_len, int rows, long long window);

// The place in all_buckets() of a bucket that bucket_of() made. Plain arithmetic: the run path uses
// it.
std::size_t bucket_index(const Bucket& bucket);
// Steps from one bucket to another, each axis in its own classes.
long long distance(const Bucket& a, const Bucket& b);
// Those of one number of rows: batch outermost, then length.
std::vector<Bucket> buckets_of_rows(int rows);
// Every bucket of a spec, for prewarm and for plans without a workload: rows outermost, then batch,
// then length.
std::vector<Bucket> all_buckets(const Spec& spec);

}  // namespace qrow
