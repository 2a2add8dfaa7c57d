#include "runtime/base/hash.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"

namespace qrow {

TEST_CASE("A digest is XXH3-128 in canonical order") {
  // Persisted in cache files: the published value of the empty input, and one of ours that must
  // never change.
  CHECK(digest_of("").hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(digest_of("qrow").hex() == digest_of(std::string_view("qrow!").substr(0, 4)).hex());
  CHECK(digest_of("qrow") != digest_of("qroW"));
}

TEST_CASE("A digest survives its hex text, in either case") {
  const Digest digest = digest_of("some key text");
  CHECK(digest_from_hex(digest.hex()) == digest);
  CHECK(digest_from_hex("99AA06D3014798D86001C324468D497F") == digest_of(""));
  CHECK(Digest{0, 0x0123456789abcdef}.hex() == "00000000000000000123456789abcdef");
}

TEST_CASE("What is not 32 hex digits is refused as a digest") {
  for (const char* text :
       {"", "99aa", "99aa06d3014798d86001c324468d497", "99aa06d3014798d86001c324468d497f0",
        "99aa06d3014798d86001c324468d497g", " 9aa06d3014798d86001c324468d497f"}) {
    CHECK_THROWS_AS(digest_from_hex(text), Error);
  }
}

}  // namespace qrow
