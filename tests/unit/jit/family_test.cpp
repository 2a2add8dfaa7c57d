#include "jit/family.hpp"

#include <doctest/doctest.h>

#include "templates/families.hpp"

namespace qrow {
namespace {

const Family& family() { return *family_by_name("decode_mma"); }

Tuning some_tuning() {
  Tuning tuning;
  for (const AxisInfo& axis : family().axes()) tuning.push_back(axis.values[0]);
  return tuning;
}

std::string refusal(std::string_view text) {
  try {
    parse_tuning(family(), text, some_tuning());
    return "";
  } catch (const Error& error) {
    CHECK(error.status() == Status::invalid_argument);
    return error.what();
  }
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A tuning survives its text, and axes that are left out keep their values") {
  const Tuning base = some_tuning();
  CHECK(parse_tuning(family(), format_tuning(family(), base), base) == base);
  CHECK(parse_tuning(family(), "", base) == base);
  const Tuning changed = parse_tuning(family(), "num_stages:4,tile_tokens:64", base);
  CHECK(format_tuning(family(), changed).starts_with("tile_tokens:64,num_stages:4,"));
}

TEST_CASE("A tuning word that is wrong is named, with what is legal") {
  CHECK(contains(refusal("tile_token:32"),
                 "family decode_mma has no axis 'tile_token'; its axes are tile_tokens, "));
  CHECK(
      contains(refusal("tile_tokens:33"), "'33' is not a value of tile_tokens; legal: 16, 32, 64"));
  CHECK(contains(refusal("tile_tokens:32x"), "'32x' is not a value"));
  CHECK(contains(refusal("tile_tokens"), "'' is not a value"));
  CHECK(contains(refusal("tile_tokens:32,tile_tokens:32"), "given twice"));
  CHECK(contains(refusal("tile_tokens:32, num_stages:2"), "' num_stages'"));
  CHECK(contains(refusal(",tile_tokens:32"), "has no axis ''"));
}

TEST_CASE("A base of another family is a mistake of ours") {
  CHECK_THROWS_AS(parse_tuning(family(), "", Tuning{1, 2}), Error);
}

TEST_CASE("Every axis of every family is named once, explained, and has distinct values") {
  for (const Family* each : families()) {
    std::vector<std::string_view> names;
    for (const AxisInfo& axis : each->axes()) {
      CHECK_FALSE(axis.help.empty());
      CHECK_FALSE(axis.values.empty());
      for (const std::string_view other : names) CHECK(other != axis.name);
      names.push_back(axis.name);
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK(axis.values[i] != axis.values[j]);
      }
    }
  }
}

}  // namespace qrow
