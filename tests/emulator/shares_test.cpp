// How KV is shared among blocks, in small: few and many blocks, batches of more than a warp, column
// tiles, heads abreast, many parts; and kernels that overlap.
#include <doctest/doctest.h>

#include "tests/emulator/emulated.hpp"
#include "tests/emulator/own_call.hpp"

namespace qrow {
namespace {

void check_on(int num_sms, std::initializer_list<const char*> lines) {
  fake_cuda::Machine machine;
  machine.num_sms = num_sms;
  Emulated device(machine);
  std::vector<Case> cases;
  for (const char* line : lines) cases.push_back(parse_case(line));
  device.build(cases);
  for (const Case& c : cases) {
    const std::string wrong = device.check(c);
    CHECK_MESSAGE(wrong == "", format_case(c), ": ", wrong);
  }
}

}  // namespace

TEST_CASE("a few short requests of bf16 are right") {
  check_on(3, {"heads=6/2 d=64 rows=3 page=16 out=f32 lse=e batch=4 len=31,0,2,170"});
}

TEST_CASE("a few short requests of e4m3 are right") {
  check_on(
      3, {"heads=4/2 d=64 rows=2 page=16 kv=e4m3 scale=head out=f32 lse=2 batch=4 len=31,0,1,333"});
}

TEST_CASE("warps that share a ring keep in step") {
  check_on(1, {"heads=8/1 d=64 rows=4 page=16 kv=e4m3 out=f32 lse=e batch=2 len=31,900",
               "heads=8/1 d=64 rows=4 out=bf16 batch=2 len=127,260"});
}

TEST_CASE("columns beyond one tile are right, whole and in parts") {
  check_on(2, {"heads=32/2 d=64 rows=5 page=16 kv=e4m3 scale=head out=f32 lse=e batch=2 len=70,331",
               "heads=32/2 d=64 rows=5 page=16 out=f32 lse=2 batch=2 len=3,200 splits=2"});
}

TEST_CASE("e4m3 without the instruction is right in K as in V") {
  fake_cuda::Machine machine;
  machine.major = 8;
  machine.num_sms = 2;
  Emulated device(machine);
  const Case c =
      parse_case("heads=4/2 d=64 rows=2 page=16 kv=e4m3 out=f32 lse=e batch=2 len=65,400");
  device.build({c});
  CHECK(device.check(c) == "");
}

TEST_CASE("a batch of more than two warps of requests is found its blocks") {
  check_on(5, {"heads=8/8 d=64 page=16 out=f32 batch=70 len=31x20,200,6x0,300,31x9",
               "heads=2/2 d=64 page=16 out=f32 batch=70 len=40x1,900,29x1"});
}

// 18 and 17 steps in 14 shares of two or three: the second unit begins within a share, which ends
// half a step before the first would.
TEST_CASE("a unit that begins within a share is right, and so is one that ends just before one") {
  check_on(7, {"heads=1/1 d=64 page=16 out=f32 lse=e batch=2 len=2300,2100"});
}

TEST_CASE("a unit in more parts than one round of combine takes is right, empty ones among them") {
  check_on(4, {"heads=1/1 d=64 page=16 out=f32 lse=e batch=16 len=0,4x1500,11x3 splits=19",
               "heads=2/1 d=64 page=16 out=f32 lse=2 batch=1 len=9000"});
}

TEST_CASE("one request of many parts is shared by a whole block of combine") {
  check_on(40, {"heads=2/1 d=64 page=16 kv=e4m3 out=f32 lse=2 batch=1 len=6000"});
}

TEST_CASE("calls that may begin before the one before them has ended keep their order") {
  Emulated device;
  for (const char* line : {"heads=4/2 d=64 rows=2 page=16 out=f32 batch=2 len=10,20",
                           "heads=4/2 d=64 rows=2 page=16 out=f32 batch=2 len=10,700"}) {
    OwnCall call(device, line);
    call.args.flags = QROW_RUN_PDL;
    call.allocate();
    CHECK(call.check() == "");
    CHECK(call.check() == "");
  }
}

}  // namespace qrow
