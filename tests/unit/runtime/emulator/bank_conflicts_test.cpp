#include "runtime/emulator/bank_conflicts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace qrow::emulator {
namespace {

// Passes beyond the least, of a warp whose lane i touches `address(i)`.
template <typename Address>
long long extra(unsigned bytes, Address address) {
  BankConflicts conflicts;
  for (unsigned lane = 0; lane < 32; ++lane)
    conflicts.add(static_cast<int>(lane), address(lane), bytes, 1);
  return conflicts.finish();
}

}  // namespace

TEST_CASE("neighbouring words of 4, 8 and 16 bytes have no bank conflict") {
  for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u}) {
    CAPTURE(bytes);
    CHECK(extra(bytes, [&](unsigned lane) { return 1024 + bytes * lane; }) == 0);
    CHECK(extra(bytes, [&](unsigned lane) { return 1024 + bytes * (31 - lane); }) == 0);
  }
}

TEST_CASE("lanes that read one word share a pass") {
  CHECK(extra(4, [](unsigned) { return 512u; }) == 0);
  CHECK(extra(16, [](unsigned lane) { return 16 * (lane % 8 / 4); }) == 0);
}

TEST_CASE("strides of 2, 8 and 32 words need 2, 8 and 32 passes") {
  for (const unsigned stride : {2u, 8u, 32u}) {
    CAPTURE(stride);
    CHECK(extra(4, [&](unsigned lane) { return 4 * stride * lane; }) == stride - 1);
  }
  CHECK(extra(4, [](unsigned lane) { return 4 * 33 * lane; }) == 0);  // a padded column
}

TEST_CASE("rows of 128 bytes read in parts of 16 conflict eight times without a swizzle") {
  // As ldmatrix reads: 8 rows make a pass, 4 passes.
  CHECK(extra(16, [](unsigned lane) { return 128 * lane; }) == 4 * 7);
  CHECK(extra(16, [](unsigned lane) { return 128 * lane + 16 * (lane % 8); }) == 0);
  CHECK(extra(16, [](unsigned lane) { return 144 * lane; }) == 0);  // padded
  // 256 bytes a row: the swizzle must still spread eight rows.
  CHECK(extra(16, [](unsigned lane) { return 256 * lane + 16 * (lane % 8); }) == 0);
  CHECK(extra(16, [](unsigned lane) { return 256 * lane + 16 * (lane % 4); }) == 4);
}

TEST_CASE("pairs of words are read in two halves of the warp") {
  CHECK(extra(8, [](unsigned lane) { return 16 * lane; }) == 2);
  CHECK(extra(8, [](unsigned lane) { return 8 * (lane % 16); }) == 0);
}

TEST_CASE("lanes that run a loop one after the other count as a warp that runs it together") {
  BankConflicts conflicts;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 5; ++i)
      conflicts.add(static_cast<int>(lane), 4 * (32 * i + 2 * lane), 4, 1);
  }
  CHECK(conflicts.finish() == 5);
  CHECK(conflicts.finish() == 0);
}

TEST_CASE("accesses from before and after a meeting are not one access") {
  BankConflicts conflicts;
  for (unsigned lane = 0; lane < 16; ++lane)
    conflicts.add(static_cast<int>(lane), 128 * lane, 4, 1);
  conflicts.meet();
  for (unsigned lane = 16; lane < 32; ++lane)
    conflicts.add(static_cast<int>(lane), 128 * lane, 4, 1);
  CHECK(conflicts.finish() == 15 + 15);
}

TEST_CASE("accesses at different places are not one access") {
  BankConflicts conflicts;
  for (unsigned lane = 0; lane < 32; ++lane)
    conflicts.add(static_cast<int>(lane), 128 * lane, 4, lane / 16);
  CHECK(conflicts.finish() == 15 + 15);
}

}  // namespace qrow::emulator
