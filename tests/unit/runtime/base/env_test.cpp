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

TEST_CASE("A variable without a row in the table is a mistake of ours") {
  CHECK_THROWS_AS(env("QROW_NO_SUCH_VARIABLE"), Error);
  CHECK_FALSE(foreign_env("QROW_NO_SUCH_VARIABLE"));
}

}  // namespace qrow
