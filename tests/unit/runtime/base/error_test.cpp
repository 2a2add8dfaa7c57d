#include "runtime/base/error.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace qrow {

TEST_CASE("Every status has a name of its own, and others are UNKNOWN") {
  std::set<std::string> names;
  for (int value = 0; value <= 13; ++value) names.insert(status_name(static_cast<Status>(value)));
  CHECK(names.size() == 14);
  CHECK_FALSE(names.contains("UNKNOWN"));
  CHECK(std::string(status_name(static_cast<Status>(14))) == "UNKNOWN");
  CHECK(std::string(status_name(static_cast<Status>(-1))) == "UNKNOWN");
}

TEST_CASE("A failure carries its status and its formatted text") {
  try {
    fail(Status::workspace_too_small, "{} bytes needed, {} given", 512, 256);
    FAIL("fail() returned");
  } catch (const Error& error) {
    CHECK(error.status() == Status::workspace_too_small);
    CHECK(std::string(error.what()) == "512 bytes needed, 256 given");
  }
}

TEST_CASE("Support is able without a reason, or not able with one") {
  CHECK(Support::yes());
  CHECK(Support::yes().reason.empty());
  const Support no = Support::no("d {} is not built", 96);
  CHECK_FALSE(no);
  CHECK(no.reason == "d 96 is not built");
}

}  // namespace qrow
