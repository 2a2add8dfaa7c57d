#include "jit/key.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "templates/families.hpp"
#include "tests/unit/jit/variant_for_tests.hpp"

namespace qrow {
namespace {

const Digest kSources{0x0123456789abcdef, 0xfedcba9876543210};

}  // namespace

// Persisted: a change here makes every stored kernel a miss. Raise kEntryFormat with it.
TEST_CASE("The text of a key is what it was") {
  const Key key = make_key(variant_for_tests(), kSources);
  CHECK(key.text ==
        "entry=1 family=decode_sample arch=sm_90a spec.q_dtype=1 spec.head_dim=128 "
        "spec.page_size=123456 "
        "tuning.tile_tokens=64 tuning.num_stages=3 target.e4m3_convert=1 "
        "target.programmatic_launch=1 registers=168 "
        "threads=128 smem=32768 sources=0123456789abcdeffedcba9876543210");
  CHECK(key.digest == digest_of(key.text));
}

TEST_CASE("Whatever makes another kernel makes another key") {
  using Change = std::function<void(Variant&)>;
  const std::vector<Change> changes = {
      [](Variant&) {},
      [](Variant& v) { v.family = "decode_other"; },
      [](Variant& v) { v.arch = &arch_by_name("sm_100a"); },
      [](Variant& v) { v.spec[0].value = 2; },
      [](Variant& v) { v.spec[0].name = "kv_dtype"; },
      [](Variant& v) { v.tuning[1].value = 2; },
      [](Variant& v) { v.register_cap = 0; },
      [](Variant& v) { v.threads = 256; },
      [](Variant& v) { v.smem_bytes = 0; },
      [](Variant& v) {
        v.tuning = {{"tile_tokens", 64}};
        v.spec.push_back({"num_stages", 3});
      },
  };
  std::set<Digest> digests;
  for (const Change& change : changes) {
    Variant variant = variant_for_tests();
    change(variant);
    digests.insert(make_key(variant, kSources).digest);
  }
  digests.insert(make_key(variant_for_tests(), Digest{1, 2}).digest);
  CHECK(digests.size() == changes.size() + 1);
}

TEST_CASE("Head counts with the same group share a key") {
  const Family& family = *family_by_name("decode_mma");
  const Arch& arch = arch_by_name("sm_90a");
  const auto key_of = [&](int num_q_heads, int num_kv_heads) {
    Spec spec;
    spec.num_q_heads = num_q_heads;
    spec.num_kv_heads = num_kv_heads;
    return make_key(family.variant(spec, family.default_tuning(spec, arch, {}), arch), kSources);
  };
  CHECK(key_of(64, 8) == key_of(16, 2));
  CHECK(key_of(64, 8).digest != key_of(64, 4).digest);
}

}  // namespace qrow
