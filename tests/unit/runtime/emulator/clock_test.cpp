#include "runtime/emulator/clock.hpp"

#include <doctest/doctest.h>

namespace qrow::emulator {

TEST_CASE("a thread knows all of itself and nothing of others before a barrier") {
  const Clock one(1);
  CHECK(one.knows(1, one.epoch()));
  CHECK_FALSE(one.knows(0, 1));
}

TEST_CASE("a barrier tells its threads what all did before, not what they do after") {
  Clock a(0), b(1), c(2);
  const auto before = a.epoch();
  Clock* const both[] = {&a, &b};
  Clock::join(both, 3);
  CHECK(b.knows(0, before));
  CHECK_FALSE(b.knows(0, a.epoch()));
  CHECK_FALSE(c.knows(0, before));
}

TEST_CASE("what one barrier told the next one tells on") {
  Clock a(0), b(1), c(2);
  const auto of_a = a.epoch(), of_c = c.epoch();
  Clock* const first[] = {&a, &b};
  Clock::join(first, 3);
  Clock* const second[] = {&b, &c};
  Clock::join(second, 3);
  CHECK(c.knows(0, of_a));
  CHECK(b.knows(2, of_c));
  CHECK_FALSE(a.knows(2, of_c));
}

}  // namespace qrow::emulator
