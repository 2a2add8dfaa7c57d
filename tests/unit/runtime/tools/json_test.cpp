#include <doctest/doctest.h>

#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/tools/json_reader.hpp"
#include "runtime/tools/json_writer.hpp"

namespace qrow {
namespace {

TEST_CASE("a written object parses and keeps the order of its fields") {
  JsonObject inner, object;
  inner.add("a", 1);
  object.add("text", "q\"\\\n\t\x01").add("number", 1.5).add("count", 7LL).add("yes", true);
  object.add("inner", inner).add("list", std::vector<JsonObject>{inner, inner});
  object.add("words", std::vector<std::string>{"x", "y"});
  CHECK(
      object.text() ==
      R"({"text":"q\"\\\n\u0009\u0001","number":1.5,"count":7,"yes":true,"inner":{"a":1},"list":[{"a":1},{"a":1}],"words":["x","y"]})");
  CHECK(is_json(object.text()));
  CHECK(is_json(JsonObject().text()));
}

TEST_CASE("text that is not UTF-8 and numbers that are not finite still give valid JSON") {
  JsonObject object;
  object.add("path", "/tmp/\xff\xc3/\xed\xa0\x80/\xc3\xa4")
      .add("nan", std::numeric_limits<double>::quiet_NaN());
  CHECK(is_json(object.text()));
  CHECK(object.text().find("\xc3\xa4") != std::string::npos);
  CHECK(object.text().find("null") != std::string::npos);
}

TEST_CASE("a document is read by paths and complaints name file and field") {
  JsonReader json("c.json",
                  R"({"a":{"n":3,"f":8.0,"h":1.5,"t":"word","y":true,"z":null,"l":[1,"two"]}})");
  CHECK(json.integer("$.a.n") == 3);
  CHECK(json.integer("$.a.f") == 8);
  CHECK(json.number("$.a.h") == 1.5);
  CHECK(json.text("$.a.t") == "word");
  CHECK(json.boolean("$.a.y") == true);
  CHECK_FALSE(json.has("$.a.z"));
  CHECK_FALSE(json.integer("$.a.z").has_value());
  CHECK_FALSE(json.integer("$.b.c").has_value());
  CHECK(json.array_size("$.a.l") == 2);
  CHECK(json.text("$.a.l[1]") == "two");
  CHECK_THROWS_WITH_AS(json.integer("$.a.t"), "c.json: a.t is word, it must be a number", Error);
  CHECK_THROWS_WITH_AS(json.integer("$.a.h"), "c.json: a.h is 1.5, it must be an integer", Error);
  CHECK_THROWS_AS(json.array_size("$.a.n"), Error);
  CHECK_THROWS_AS(json.boolean("$.a.n"), Error);
}

TEST_CASE("a file that is not JSON is refused by name") {
  CHECK_THROWS_WITH_AS(JsonReader("c.json", "{\"a\":"), "c.json is not valid JSON", Error);
  CHECK_THROWS_AS(JsonReader("c.json", ""), Error);
}

}  // namespace
}  // namespace qrow
