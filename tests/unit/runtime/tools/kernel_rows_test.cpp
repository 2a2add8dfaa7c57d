#include "runtime/tools/kernel_rows.hpp"

#include <doctest/doctest.h>

namespace qrow {
namespace {

TEST_CASE("the words of a key come apart as names and values") {
  auto words = key_words("entry=1 family=decode_mma spec.head_dim=128");
  REQUIRE(words.size() == 3);
  CHECK(words[1] == std::pair<std::string, std::string>("family", "decode_mma"));
  CHECK(words[2].first == "spec.head_dim");
}

TEST_CASE("two keys differ in exactly the named words") {
  auto differences = key_differences("a=1 b=2 c=3", "a=1 b=4 d=5");
  REQUIRE(differences.size() == 3);
  CHECK(differences[0].field == "b");
  CHECK(differences[0].asked == "2");
  CHECK(differences[0].stored == "4");
  CHECK(differences[1].field == "c");
  CHECK(differences[1].stored.empty());
  CHECK(differences[2].field == "d");
  CHECK(differences[2].asked.empty());
  CHECK(key_differences("a=1", "a=1").empty());
}

}  // namespace
}  // namespace qrow
