#include "runtime/dispatch.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "runtime/case.hpp"
#include "templates/families.hpp"

namespace qrow {
namespace {

constexpr int kSmallestLengthExponent = 8;

// ceil(log2(value)), within [low, low + count).
int power_class(long long value, int low, int count) {
  const auto positive = static_cast<unsigned long long>(std::max(value, 1LL));
  const int exponent = static_cast<int>(std::bit_width(positive - 1));
  return std::clamp(exponent - low, 0, count - 1);
}

std::string all_reasons(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", verdict.family->name(),
                        verdict.support.reason);
  }
  return text.empty() ? "this build has no attention family" : text;
}

const Family& forced_family(const Spec& spec, const Arch& arch, const std::string& name) {
  const Family* family = family_by_name(name);
  if (family == nullptr || family->role() != Family::Role::attention) {
    std::string legal;
    for (const Family* each : families()) {
      if (each->role() == Family::Role::attention)
        legal += fmt::format("{}{}", legal.empty() ? "" : ", ", each->name());
    }
    fail(Status::invalid_argument, "family '{}' was asked for; the attention families are: {}",
         name, legal);
  }
  if (const Support support = family->supports(spec, arch); !support) {
    fail(Status::unsupported, "family {} cannot run '{}' on {}: {}", name, format_spec(spec),
         arch.name, support.reason);
  }
  return *family;
}

void choose_combine(const Spec& spec, const Arch& arch, const Bucket& bucket, Choice& choice) {
  if (!choice.family->geometry(spec, choice.tuning, arch).splits_kv) return;
  std::string reason = "this build has no combine family";
  for (const Family* family : families()) {
    if (family->role() != Family::Role::combine) continue;
    if (const Support support = family->supports(spec, arch); !support) {
      reason = support.reason;
      continue;
    }
    choice.combine = family;
    choice.combine_tuning = family->default_tuning(spec, arch, bucket);
    return;
  }
  fail(Status::unsupported, "no combine kernel can merge the KV splits of '{}' on {}: {}",
       format_spec(spec), arch.name, reason);
}

}  // namespace

std::vector<Verdict> ask_families(const Spec& spec, const Arch& arch, const Bucket& bucket) {
  std::vector<Verdict> verdicts;
  for (const Family* family : families()) {
    if (family->role() != Family::Role::attention) continue;
    Verdict verdict{family, family->supports(spec, arch), 0};
    if (verdict.support) verdict.rank = family->rank(spec, arch, bucket);
    verdicts.push_back(std::move(verdict));
  }
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    if (a.support.able != b.support.able) return a.support.able;
    return a.support.able && a.rank < b.rank;
  });
  return verdicts;
}

bool same_kernels(const Choice& a, const Choice& b) {
  return a.family == b.family && a.tuning == b.tuning && a.combine == b.combine &&
         a.combine_tuning == b.combine_tuning;
}

Choice choose(const Spec& spec, const Arch& arch, const Bucket& bucket, const std::string& family,
              const std::string& tuning) {
  Choice choice;
  if (!family.empty()) {
    choice.family = &forced_family(spec, arch, family);
  } else {
    const std::vector<Verdict> verdicts = ask_families(spec, arch, bucket);
    if (verdicts.empty() || !verdicts.front().support) {
      fail(Status::unsupported, "no kernel family can run '{}' on {}: {}", format_spec(spec),
           arch.name, all_reasons(verdicts));
    }
    choice.family = verdicts.front().family;
  }
  choice.tuning = choice.family->default_tuning(spec, arch, bucket);
  if (!tuning.empty()) {
    choice.tuning = parse_tuning(*choice.family, tuning, choice.tuning);
    if (const Support legal = choice.family->legal(spec, choice.tuning, arch); !legal) {
      fail(Status::invalid_argument, "tuning '{}' is not legal for family {} on {}: {}", tuning,
           choice.family->name(), arch.name, legal.reason);
    }
  }
  if (!family.empty() || !tuning.empty()) choice.source = TuningSource::forced;
  choose_combine(spec, arch, bucket, choice);
  return choice;
}

std::vector<Variant> variants_of(const Spec& spec, const Choice& choice, const Arch& arch) {
  std::vector<Variant> variants{choice.family->variant(spec, choice.tuning, arch)};
  if (choice.combine != nullptr)
    variants.push_back(choice.combine->variant(spec, choice.combine_tuning, arch));
  return variants;
}

Bucket bucket_of(const Spec& spec, int batch, long long max_kv_len, int rows, long long window) {
  Bucket bucket;
  bucket.rows = rows > 0 ? std::min(rows, spec.max_rows) : spec.max_rows;
  const long long visible =
      spec.window != 0 && window > 0 ? std::min(max_kv_len, window + bucket.rows) : max_kv_len;
  bucket.batch = 1 << power_class(batch, 0, kBucketBatches);
  bucket.kv_len = 1LL << (kSmallestLengthExponent +
                          power_class(visible, kSmallestLengthExponent, kBucketLengths));
  return bucket;
}

std::size_t bucket_index(const Bucket& bucket) {
  const int batch = power_class(bucket.batch, 0, kBucketBatches);
  const int length = power_class(bucket.kv_len, kSmallestLengthExponent, kBucketLengths);
  return static_cast<std::size_t>(((bucket.rows - 1) * kBucketBatches + batch) * kBucketLengths +
                                  length);
}

long long distance(const Bucket& a, const Bucket& b) {
  const auto exponent = [](long long power) {
    return static_cast<long long>(std::bit_width(static_cast<unsigned long long>(power)));
  };
  return std::llabs(exponent(a.batch) - exponent(b.batch)) +
         std::llabs(exponent(a.kv_len) - exponent(b.kv_len)) +
         std::llabs(static_cast<long long>(a.rows) - b.rows);
}

std::vector<Bucket> buckets_of_rows(int rows) {
  std::vector<Bucket> buckets;
  buckets.reserve(kBucketBatches * kBucketLengths);
  for (int batch = 0; batch < kBucketBatches; ++batch) {
    for (int length = 0; length < kBucketLengths; ++length) {
      buckets.push_back({1 << batch, 1LL << (kSmallestLengthExponent + length), rows});
    }
  }
  return buckets;
}

std::vector<Bucket> all_buckets(const Spec& spec) {
  std::vector<Bucket> buckets;
  buckets.reserve(static_cast<std::size_t>(spec.max_rows * kBucketBatches * kBucketLengths));
  for (int rows = 1; rows <= spec.max_rows; ++rows) {
    const std::vector<Bucket> more = buckets_of_rows(rows);
    buckets.insert(buckets.end(), more.begin(), more.end());
  }
  return buckets;
}

}  // namespace qrow
