#include "runtime/base/env.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "runtime/base/error.hpp"

namespace qrow {

TEST_CASE("Every variable of the table is ours, named once and explained") {
  std::set<std::string> names;
  for (const EnvVariable& variable : env_variables()) {
    CHECK(std::string(variable.name).starts_with("QROW_"));
    CHECK(std::string(variable.meaning).size() > 10);
    CHECK(names.insert(variable.name).second);
  }
  CHECK(names.contains("QROW_NVRTC"));
}

TEST_CASE("A variable that is unset or empty has no value") {
  const char* const name = "QROW_DUMP";
  unsetenv(name);
  CHECK_FALSE(env(name));
  setenv(name, "", 1);
  CHECK_FALSE(env(name));
  setenv(name, "/some/folder", 1);
  CHECK(env(name) == std::string("/some/folder"));
  unsetenv(name);
}

TEST_CASE("A value that means nothing is refused by name, with what is legal") {
  struct Sample {
    const char *name, *good, *bad, *said;
  };
  for (const Sample& sample :
       {Sample{"QROW_JIT", "cache_only", "off", "QROW_JIT is 'off': the values are on and"},
        Sample{"QROW_LOG", "debug", "loud", "QROW_LOG is 'loud': the values are error"},
        Sample{"QROW_DUMP", "/no/folder/yet", "/dev/null", "QROW_DUMP is '/dev/null', which is no"},
        Sample{"QROW_DUMP", "off", "/dev/null/x", "QROW_DUMP is '/dev/null/x', which is no"}}) {
    setenv(sample.name, sample.good, 1);
    CHECK(env_complaint(sample.name).empty());
    CHECK_NOTHROW(check_environment());
    setenv(sample.name, sample.bad, 1);
    CHECK(env_complaint(sample.name).starts_with(sample.said));
    CHECK_THROWS_WITH_AS(check_environment(), doctest::Contains(sample.said), Error);
    unsetenv(sample.name);
  }
  CHECK_FALSE(cache_only_by_environment());
  CHECK(log_level_by_environment() == LogLevel::warning);
  CHECK_FALSE(dump_folder_by_environment());
}

TEST_CASE("A variable without a row in the table is a mistake of ours") {
  CHECK_THROWS_AS(env("QROW_NO_SUCH_VARIABLE"), Error);
  CHECK_FALSE(foreign_env("QROW_NO_SUCH_VARIABLE"));
}

}  // namespace qrow
