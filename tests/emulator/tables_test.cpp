// Page tables, lengths and strides that a case line cannot say.
#include <doctest/doctest.h>

#include <limits>

#include "tests/emulator/own_call.hpp"
#include "tests/skip.hpp"

namespace qrow {
namespace {

// More than 2^31 in three steps, and a multiple of what strides must be multiples of.
constexpr std::int64_t kFar = (1LL << 30) + 4096;

// Fails the case where the machine has no room for untouched memory; then nothing was checked.
bool allocate_or_skip(OwnCall& call) {
  try {
    call.allocate();
    return true;
  } catch (const Error& error) {
    if (error.status() != Status::out_of_memory && error.status() != Status::driver) throw;
    skip_case(std::string("no room for tensors with far rows: ") + error.what());
    return false;
  }
}

}  // namespace

TEST_CASE("V's own page table and strides are followed, in tables without an entry to spare") {
  Emulated device;
  for (const char* line :
       {"heads=6/3 d=64 rows=2 page=4 out=f32 lse=e batch=3 len=9,8,36",
        "heads=8/2 rows=2 kv=e4m3 scale=head out=f32 lse=2 batch=3 len=70,33,128",
        "heads=8/2 d=64 rows=1 page=1 kv=e4m3 out=f16 lse=2 batch=2 len=40,33"}) {
    OwnCall call(device, line);
    call.give_v_its_own_table();
    call.allocate();
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", std::string(line), ": ", wrong);
  }
}

TEST_CASE("pages, tokens, heads and rows more than 2^31 bytes from the first are found") {
  Emulated device;
  enum { pages, tokens, heads, num_dimensions };
  for (int dimension = 0; dimension < num_dimensions; ++dimension) {
    OwnCall call(device, "heads=6/3 d=64 rows=2 page=4 out=f32 lse=e batch=2 len=7,4");
    qrow_args& args = call.args;
    if (dimension == pages) args.k_page_stride = args.v_page_stride = kFar;
    if (dimension == tokens) args.k_token_stride = args.v_token_stride = kFar;
    if (dimension == heads) args.k_head_stride = args.v_head_stride = kFar;
    if (dimension == pages) args.q_row_stride = args.out_row_stride = args.lse_row_stride = kFar;
    if (dimension == heads) args.q_head_stride = args.out_head_stride = args.lse_head_stride = kFar;
    if (!allocate_or_skip(call)) return;
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", "dimension ", dimension, ": ", wrong);
  }
}

TEST_CASE("tokens more than 2^31 bytes apart are found in a page of many tiles") {
  Emulated device;
  OwnCall call(device, "heads=4/2 rows=2 page=16 out=f32 batch=1 len=57");
  call.args.k_token_stride = call.args.v_token_stride = kFar / 4;  // a tile is 16 tokens
  if (!allocate_or_skip(call)) return;
  CHECK(call.check() == "");
}

TEST_CASE("rows of page tables more than 2^31 elements from the first are found") {
  Emulated device;
  OwnCall call(device, "heads=6/3 d=64 rows=2 page=4 out=f32 lse=e batch=3 len=7,4,9");
  call.args.page_table_stride = kFar;
  if (!allocate_or_skip(call)) return;
  CHECK(call.check() == "");
}

TEST_CASE("partial results find their rows more than 2^31 bytes from the first") {
  Emulated device;
  for (const bool far_rows : {true, false}) {
    OwnCall call(device, "heads=6/3 d=64 rows=2 page=4 out=f32 lse=e batch=2 len=300,4 splits=3");
    qrow_args& args = call.args;
    if (far_rows) args.out_row_stride = args.lse_row_stride = kFar;
    if (!far_rows) args.out_head_stride = args.lse_head_stride = kFar;
    if (!allocate_or_skip(call)) return;
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", (far_rows ? "rows: " : "heads: "), wrong);
  }
}

TEST_CASE("a length beyond the bound reads neither table nor pages, a negative one is no length") {
  Emulated device;
  for (const char* line : {"heads=8/2 rows=2 page=1 out=f32 lse=e batch=3 len=5,3,4",
                           "heads=8/2 rows=2 page=1 out=f32 lse=e batch=3 len=5,3,4 splits=2"}) {
    OwnCall call(device, line);
    call.allocate();
    int* lens = const_cast<int*>(call.args.kv_lens);
    lens[1] = std::numeric_limits<int>::min();
    lens[2] = std::numeric_limits<int>::max();
    const std::string wrong = call.check();
    CHECK_MESSAGE(wrong == "", std::string(line), ": ", wrong);
    CHECK(*call.args.device_status == QROW_DEVICE_KV_LEN_ABOVE_BOUND);
  }
}

}  // namespace qrow
