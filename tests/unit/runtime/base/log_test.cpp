#include "runtime/base/log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace qrow {

TEST_CASE("A log passes on what is at or above its level, formatted") {
  std::vector<std::string> lines;
  const Log log(LogLevel::info, [&](LogLevel level, const char* text) {
    lines.push_back(fmt::format("{} {}", static_cast<int>(level), text));
  });
  log(LogLevel::error, "a {}", 1);
  log(LogLevel::info, "b");
  log(LogLevel::debug, "c");
  CHECK(lines == std::vector<std::string>{"1 a 1", "3 b"});
  CHECK(log.enabled(LogLevel::warning));
  CHECK_FALSE(log.enabled(LogLevel::debug));
}

TEST_CASE("A log without a sink is silent") {
  const Log log;
  log(LogLevel::error, "nobody hears {}", "this");
  CHECK_FALSE(log.enabled(LogLevel::error));
}

}  // namespace qrow
