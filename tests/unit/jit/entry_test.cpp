#include "jit/entry.hpp"

#include <doctest/doctest.h>

#include <locale>

#include "tests/unit/jit/variant_for_tests.hpp"

namespace qrow {
namespace {

Key key_for_tests() {
  Key key = make_key(variant_for_tests(), Digest{1, 2});
  key.digest = digest_from_hex("1f3a9c20000000000000000000000000");
  return key;
}

// Writes 123456 as "123.456" and 0.5 as "0,5", as German does.
class Grouping : public std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

// Raise kEntryFormat (jit/key.hpp) when this text changes: stored kernels were made from the old
// one.
TEST_CASE("The generated translation unit is what it was") {
  CHECK(entry_text(variant_for_tests(), key_for_tests()) ==
        "#include \"templates/decode_sample/kernel.cuh\"\n"
        "constexpr qrow::SampleSpec kSpec{.q_dtype = 1, .head_dim = 128, .page_size = 123456};\n"
        "constexpr qrow::SampleTuning kTuning{.tile_tokens = 64, .num_stages = 3};\n"
        "constexpr qrow::Target kTarget{.e4m3_convert = 1, .programmatic_launch = 1};\n"
        "static_assert(qrow::smem_bytes(kSpec, kTuning) == 32768, \"host and device disagree about "
        "shared memory\");\n"
        "extern \"C\" __global__ void __maxnreg__(168) qrow_decode_sample_1f3a9c20"
        "(const __grid_constant__ qrow::SampleParams params) {\n"
        "  qrow::decode_sample_kernel<kSpec, kTuning, kTarget>(params);\n"
        "}\n");
  CHECK(kEntryFormat == 1);
}

TEST_CASE("Without a register cap the block size bounds the registers") {
  Variant variant = variant_for_tests();
  variant.register_cap = 0;
  variant.has_smem_check = false;
  const std::string text = entry_text(variant, key_for_tests());
  CHECK(text.find("__launch_bounds__(128)") != std::string::npos);
  CHECK(text.find("__maxnreg__") == std::string::npos);
  CHECK(text.find("static_assert") == std::string::npos);
}

TEST_CASE("The locale of the process does not reach key or entry") {
  const Key key = key_for_tests();
  const std::string text = entry_text(variant_for_tests(), key);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouping));
  const std::string text_then = entry_text(variant_for_tests(), key);
  const std::string key_then = make_key(variant_for_tests(), Digest{1, 2}).text;
  const std::string hex_then = Digest{123456789, 987654321}.hex();
  std::locale::global(before);
  CHECK(text_then == text);
  CHECK(key_then == key.text);
  CHECK(hex_then == Digest{123456789, 987654321}.hex());
}

TEST_CASE("Only identifiers reach generated code") {
  const auto refused = [](auto change) {
    Variant variant = variant_for_tests();
    change(variant);
    CHECK_THROWS_AS(entry_text(variant, key_for_tests()), Error);
  };
  refused([](Variant& v) { v.family = "decode\"mma"; });
  refused([](Variant& v) { v.spec_type = "A B"; });
  refused([](Variant& v) { v.tuning_type = ""; });
  refused([](Variant& v) { v.params_type = "1st"; });
  refused([](Variant& v) { v.spec[0].name = "x = 1} /*"; });
}

}  // namespace qrow
