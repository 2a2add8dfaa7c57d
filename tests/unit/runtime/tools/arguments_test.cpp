#include "runtime/tools/arguments.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

Arguments arguments_of(std::vector<const char*> words) { return Arguments(words); }

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
    return {};
  } catch (const Error& error) {
    CHECK(error.status() == Status::invalid_argument);
    return error.what();
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("options may stand anywhere between the words") {
  Arguments arguments = arguments_of({"a", "--jobs", "4", "b", "--arch=sm_80,sm_90a", "--dry-run"});
  CHECK(arguments.integer("--jobs", 1, 1, 8) == 4);
  CHECK(arguments.list("--arch") == std::vector<std::string>{"sm_80", "sm_90a"});
  CHECK(arguments.flag("--dry-run"));
  CHECK_FALSE(arguments.flag("--refresh"));
  CHECK(arguments.words() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the last of a repeated option counts and lists join") {
  Arguments arguments = arguments_of({"--jobs=2", "--jobs", "3", "--arch", "a,b", "--arch", "c"});
  CHECK(arguments.integer("--jobs", 1, 1, 8) == 3);
  CHECK(arguments.list("--arch").size() == 3);
}

TEST_CASE("words after two dashes are never options") {
  Arguments arguments = arguments_of({"--", "--jobs", "-x"});
  CHECK_FALSE(arguments.flag("--jobs"));
  CHECK(arguments.words() == std::vector<std::string>{"--jobs", "-x"});
}

TEST_CASE("a mistake in an option is named with what is legal") {
  Arguments unknown = arguments_of({"--job", "4"});
  unknown.integer("--jobs", 1, 1, 8);
  CHECK(contains(error_of([&] { unknown.words(); }), "option --job is unknown: legal are --jobs"));
  Arguments missing = arguments_of({"--jobs"});
  CHECK(contains(error_of([&] { missing.value("--jobs"); }), "--jobs needs a value"));
  Arguments swallowed = arguments_of({"--jobs", "--dry-run"});
  CHECK(contains(error_of([&] { swallowed.value("--jobs"); }), "--jobs needs a value"));
  Arguments range = arguments_of({"--jobs", "0"});
  CHECK(contains(error_of([&] { range.integer("--jobs", 1, 1, 8); }),
                 "--jobs 0: legal is an integer from 1 to 8"));
  Arguments negative = arguments_of({"--jobs", "-1"});
  CHECK(contains(error_of([&] { negative.integer("--jobs", 1, 1, 8); }), "--jobs -1"));
  Arguments text = arguments_of({"--jobs", "4x"});
  CHECK(contains(error_of([&] { text.integer("--jobs", 1, 1, 8); }), "--jobs 4x"));
  Arguments flag = arguments_of({"--dry-run=yes"});
  CHECK(contains(error_of([&] { flag.flag("--dry-run"); }), "takes no value"));
  Arguments empty = arguments_of({"--arch", "sm_80,,sm_90a"});
  CHECK(contains(error_of([&] { empty.list("--arch"); }), "is empty"));
}

TEST_CASE("the number of words is checked against the form") {
  Arguments none = arguments_of({});
  CHECK(contains(error_of([&] { none.words(1, 1, "qrow export FILE"); }), "'qrow export FILE'"));
  Arguments many = arguments_of({"a", "b"});
  CHECK(contains(error_of([&] { many.words(1, 1, "qrow export FILE"); }),
                 "'b' is one word too many"));
}

TEST_CASE("ranges of integers expand in order without repeats") {
  CHECK(parse_int_ranges("--rows", "1-3", 1, 8) == std::vector<int>{1, 2, 3});
  CHECK(parse_int_ranges("--rows", "8,2,1-2", 1, 8) == std::vector<int>{1, 2, 8});
  for (const char* bad : {"", "0", "9", "3-1", "1-", "-2", "1,,2", "a", "1-9"})
    CHECK(contains(error_of([&] { parse_int_ranges("--rows", bad, 1, 8); }), "--rows"));
}

}  // namespace
}  // namespace qrow
