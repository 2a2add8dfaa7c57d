#include "runtime/dispatch.hpp"

#include <doctest/doctest.h>

#include "runtime/case.hpp"
#include "templates/families.hpp"

using namespace qrow;

namespace {
Spec spec_of(const char* line) { return parse_case(line).spec; }
const Arch& hopper() { return arch_by_name("sm_90a"); }
}  // namespace

TEST_CASE("buckets round batch and length up to powers of two and keep rows") {
  const Spec spec = spec_of("heads=8/8 rows=4");
  CHECK(bucket_of(spec, 100, 3000, 3, 0) == Bucket{128, 4096, 3});
  CHECK(bucket_of(spec, 128, 4096, 0, 0) == Bucket{128, 4096, 4});
  CHECK(bucket_of(spec, 0, 0, 0, 0) == Bucket{1, 256, 4});
  CHECK(bucket_of(spec, 1'000'000, 1LL << 40, 9, 0) == Bucket{4096, 4194304, 4});
}

TEST_CASE("a window bounds the length that a bucket stands for") {
  const Spec spec = spec_of("heads=8/8 rows=4 window=4096");
  CHECK(bucket_of(spec, 1, 100'000, 4, 1000).kv_len == 1024);
  CHECK(bucket_of(spec, 1, 100'000, 4, 1024).kv_len == 2048);  // the rows count
  CHECK(bucket_of(spec_of("heads=8/8 rows=4"), 1, 100'000, 4, 1000).kv_len == 131072);
}

TEST_CASE("a bucket's index is its place among all buckets") {
  const Spec spec = spec_of("heads=8/8 rows=3");
  const std::vector<Bucket> buckets = all_buckets(spec);
  CHECK(buckets.size() == static_cast<std::size_t>(3 * kBucketBatches * kBucketLengths));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& b = buckets[i];
    REQUIRE(bucket_index(b) == i);
    REQUIRE(bucket_of(spec, b.batch, b.kv_len, b.rows, 0) == b);
  }
}

TEST_CASE("distance is 0 for the same bucket and counts classes") {
  CHECK(distance({4, 1024, 2}, {4, 1024, 2}) == 0);
  CHECK(distance({4, 1024, 2}, {16, 512, 1}) == 4);
}

TEST_CASE("able families come first and every other one says why not") {
  const std::vector<Verdict> verdicts = ask_families(spec_of("heads=64/8 mask=tree"), hopper(), {});
  REQUIRE(!verdicts.empty());
  for (const Verdict& verdict : verdicts) {
    CHECK(verdict.family->role() == Family::Role::attention);
    CHECK((verdict.support.able || !verdict.support.reason.empty()));
  }
}

TEST_CASE("a choice is legal, brings its combine kernel, and names distinct variants") {
  for (const Arch& arch : archs()) {
    for (const char* line :
         {"heads=64/8 rows=4 kv=e4m3", "heads=16/2 d=256 rows=8", "heads=5/1 d=64 q=f16"}) {
      const Spec spec = spec_of(line);
      for (const Bucket& bucket : {Bucket{1, 65536, 1}, Bucket{4096, 256, spec.max_rows}}) {
        INFO(line << " on " << arch.name);
        const Choice choice = choose(spec, arch, bucket);
        CHECK(choice.source == TuningSource::fallback);
        CHECK_MESSAGE(choice.family->legal(spec, choice.tuning, arch).able,
                      choice.family->legal(spec, choice.tuning, arch).reason);
        const std::vector<Variant> variants = variants_of(spec, choice, arch);
        const bool splits = choice.family->geometry(spec, choice.tuning, arch).splits_kv;
        CHECK(variants.size() == (splits ? 2 : 1));
        if (splits) CHECK(variants.back().family == "combine");
      }
    }
  }
}

TEST_CASE("what serves a bucket does not depend on how many more rows the spec would allow") {
  for (const Arch& arch : archs()) {
    for (const char* line : {"heads=64/8 kv=e4m3", "heads=16/2 d=256", "heads=5/1 d=64 q=f16"}) {
      Spec few = spec_of(line), many = few;
      for (const int rows : {1, 2, 5, 8, 33}) {
        few.max_rows = rows;
        many.max_rows = 500;
        for (const Bucket& bucket : buckets_of_rows(rows))
          REQUIRE(same_kernels(choose(few, arch, bucket), choose(many, arch, bucket)));
      }
    }
  }
}

TEST_CASE("a tool or combine cannot be forced as the family, and the legal names are listed") {
  for (const char* name : {"combine", "reference", "read_ceiling", "nothing"}) {
    try {
      choose(spec_of("heads=8/8"), hopper(), {}, name);
      FAIL("was accepted");
    } catch (const Error& error) {
      CHECK(error.status() == Status::invalid_argument);
      CHECK(std::string(error.what()).find("decode_mma") != std::string::npos);
    }
  }
}
