// Values at the edges of what numbers can say: scales, scores and queries.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "templates/common/dtype.cuh"
#include "tests/emulator/own_call.hpp"

namespace qrow {
namespace {

void check_every_e4m3_value(Emulated& device) {
  OwnCall call(device, "heads=2/2 d=128 page=16 kv=e4m3 scale=none out=f32 batch=1 len=1");
  call.allocate();
  const auto* v = static_cast<const unsigned char*>(call.args.v);
  for (int head = 0; head < 2; ++head) {
    for (int d = 0; d < 128; ++d) {
      const int bits = head * 128 + d;
      const bool is_nan = (bits & 0x7f) == 0x7f;
      const_cast<unsigned char*>(v)[head * call.args.v_head_stride + d] =
          static_cast<unsigned char>(is_nan ? 0 : bits);
    }
  }
  CHECK(call.check() == "");
  for (int head = 0; head < 2; ++head) {
    for (int d = 0; d < 128; ++d) {
      float found;
      std::memcpy(&found, call.out(0, head) + d * 4, 4);
      const double stored =
          stored_number(v + head * call.args.v_head_stride + d, static_cast<int>(DType::e4m3));
      CHECK_MESSAGE(std::abs(found - stored) <= 1e-5 * std::abs(stored), stored, ": ", found);
    }
  }
}

}  // namespace

TEST_CASE("a lone key's value comes out as it is stored, whatever it is") {
  Emulated device;
  check_every_e4m3_value(device);
}

TEST_CASE("a lone key's value comes out as it is stored, also where bits are moved by hand") {
  fake_cuda::Machine machine;
  machine.major = 8;
  machine.minor = 0;
  Emulated device(machine);
  check_every_e4m3_value(device);
}

// On few blocks, so that a ring has tile after tile; weights would overflow f16 within one.
TEST_CASE("scores that rise far above those before them leave the right weights") {
  fake_cuda::Machine machine;
  machine.num_sms = 1;
  Emulated device(machine);
  for (const char* line :
       {"heads=4/2 d=64 rows=2 page=16 out=f32 lse=e batch=2 len=700,90",
        "heads=4/2 d=64 rows=2 kv=e4m3 scale=none out=f32 lse=2 batch=1 len=900"}) {
    OwnCall call(device, line);
    call.args.softmax_scale = 2.0f;
    call.allocate();
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", std::string(line), ": ", wrong);
  }
}

// Small queries and a large scale: the scores are as usual, but -1e30 times the scale is -inf.
TEST_CASE("rows without keys stay zeros where the scale turns their reference infinite") {
  Emulated device;
  OwnCall call(device, "heads=8/2 d=64 rows=4 page=16 out=f32 lse=e batch=3 len=2,0,40");
  constexpr int kSmaller = 36;  // powers of two
  call.args.softmax_scale = std::ldexp(0.125f, kSmaller);
  call.allocate();
  for (int row = 0; row < 12; ++row) {
    for (int head = 0; head < 8; ++head) {
      auto* q = reinterpret_cast<std::uint16_t*>(call.q(row, head));
      for (int d = 0; d < 64; ++d) q[d] = static_cast<std::uint16_t>(q[d] - (kSmaller << 7));
    }
  }
  CHECK(call.check() == "");
}

TEST_CASE("one query element far above all others costs no other row its bits, wherever it lies") {
  Emulated device;
  OwnCall call(device, "heads=8/1 page=16 kv=e4m3 out=f32 lse=e batch=1 len=40");
  call.args.softmax_scale = 0.125f / 4096;
  call.allocate();
  for (int head = 0; head < 8; ++head) {
    const int d = 17 * head;  // even and odd, in every warp's part
    auto* element = reinterpret_cast<std::uint16_t*>(call.q(0, head)) + d;
    const std::uint16_t before = *element;
    *element = (127 + 13) << 7;  // 2^13
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", "head ", head, ": ", wrong);
    *element = before;
  }
}

TEST_CASE("queries of zeros weigh all keys alike, tiny ones nearly so") {
  Emulated device;
  OwnCall call(device, "heads=8/1 d=64 page=16 kv=e4m3 out=f32 lse=e batch=1 len=40");
  call.allocate();
  for (const int exponent : {0, 1, 20, 127 - 14}) {
    for (int head = 0; head < 8; ++head) {
      auto* q = reinterpret_cast<std::uint16_t*>(call.q(0, head));
      for (int d = 0; d < 64; ++d) q[d] = static_cast<std::uint16_t>(exponent << 7);
    }
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", "exponent ", exponent, ": ", wrong);
  }
}

TEST_CASE("f16 queries keep the bits that bf16 maths lacks") {
  Emulated device;
  OwnCall call(device, "heads=8/2 d=64 rows=2 q=f16 kv=bf16 out=f32 lse=e batch=1 len=60");
  call.args.softmax_scale = 1.0f;
  call.allocate();
  CHECK(call.check() == "");
}

}  // namespace qrow
