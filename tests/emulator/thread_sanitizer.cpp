// In place of all other tests where the thread sanitizer is on.
#include <doctest/doctest.h>

#include "tests/skip.hpp"

namespace qrow {

TEST_CASE("kernels run on the CPU") {
  skip_case("the thread sanitizer does not follow the emulator's fibers");
}

}  // namespace qrow
