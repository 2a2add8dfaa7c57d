#include <doctest/doctest.h>

#include <chrono>

#include "tests/emulator/emulated.hpp"

namespace qrow {

TEST_CASE("a small case runs on the CPU and agrees with float64") {
  Emulated device;
  const Case c = parse_case("heads=16/2 rows=2 out=f32 batch=3 len=300,17,125");
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto t0 = now();
  auto counts = device.build({c});
  auto t1 = now();
  MESSAGE(counts.compiled, " compiled in ", std::chrono::duration<double>(t1 - t0).count());
  CHECK(device.check(c) == "");
  MESSAGE("ran in ", std::chrono::duration<double>(now() - t1).count());
  auto r = device.take_report();
  MESSAGE(r.text(), " conflicts ", r.bank_conflicts, " of ", r.shared_accesses);
}

}  // namespace qrow
