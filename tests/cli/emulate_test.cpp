// `qrow run --emulate`: kernels on the CPU, built in or made with the machine's compiler.
#include <doctest/doctest.h>

#include <filesystem>

#include "runtime/emulator/builder.hpp"
#include "tests/cli/process.hpp"
#include "tests/skip.hpp"

namespace qrow {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const char* const kBuiltIn = "heads=16/2 d=256 rows=4 kv=e4m3 batch=2 len=200";
const char* const kOther = "heads=6/2 d=64 rows=3 lse=e out=f32 batch=2 len=70,0";

}  // namespace

TEST_CASE("a built-in case runs on the CPU without a compiler, a GPU or a home") {
  const Environment bare = {{"PATH", "/nonexistent"}, {"HOME", "/nonexistent"}};
  const Ran ran = run_qrow({"run", "--emulate", kBuiltIn}, bare);
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(contains(ran.out, "this CPU, built-in kernels"));
  CHECK(contains(ran.out, "no fault found"));
  CHECK(contains(ran.out, "passed"));
  CHECK_FALSE(contains(ran.out, " us"));
}

TEST_CASE("another case is refused with exit code 3 where there is no compiler") {
  TemporaryFolder folder;
  const Environment bare = {{"PATH", "/nonexistent"}, {"XDG_CACHE_HOME", folder.file("cache")}};
  const Ran ran = run_qrow({"run", "--emulate", kOther}, bare);
  CHECK(ran.code == 3);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, "needs a C++ compiler"));
}

TEST_CASE("another case is compiled once, and found again") {
  if (!emulator::host_compiler({})) return skip_case("no C++ compiler");
  TemporaryFolder folder;
  const Environment environment = {{"XDG_CACHE_HOME", folder.file("cache")}};
  for (const char* kernels : {"compiled for it now", "compiled for it before"}) {
    const Ran ran = run_qrow({"run", "--emulate", kOther}, environment);
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(contains(ran.out, kernels));
    CHECK(contains(ran.out, "passed"));
  }
  const Ran json = run_qrow({"run", "--emulate", kOther, "--json"}, environment);
  const std::vector<JsonReader> records = records_of(json);
  REQUIRE(records.size() == 1);
  CHECK(contains(json.out, "\"emulated\":true"));
}

TEST_CASE("what no kernel does is refused on the CPU as on a GPU") {
  const Ran ran = run_qrow({"run", "--emulate", "heads=8/1 d=80 batch=1 len=64"});
  CHECK(ran.code == 1);
  CHECK(contains(ran.err, "d 80: this version has 64, 128 and 256"));
  CHECK(run_qrow({"run", "--emulate", "heads=8/1"}).code == 2);
  CHECK(run_qrow({"run", "--emulate", "--device", "0", kBuiltIn}).code == 2);
}

}  // namespace qrow
