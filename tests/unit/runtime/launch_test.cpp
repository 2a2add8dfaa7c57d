#include "runtime/launch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace qrow;

namespace {

Geometry splitting() {
  Geometry g;
  g.threads = 256;
  g.blocks_per_sm = 2;
  g.column_tiles = 2;
  g.columns_per_tile = 16;
  g.head_dim_v = 128;
  g.step_tokens = 128;
  return g;
}

Geometry merging() {
  Geometry g;
  g.columns_per_tile = 8;
  g.splits_kv = false;
  return g;
}

GridQuery query(int batch, long long max_kv_len, int splits = 0) {
  return {132, 8, batch, max_kv_len, splits, 0};
}

}  // namespace

TEST_CASE("the grid fills the device and is never larger than the steps there are") {
  const Geometry combine = merging();
  Grid grid = grid_of(splitting(), &combine, query(128, 2048));
  CHECK(grid.num_units == 128 * 8 * 2);
  CHECK(grid.num_blocks <= 264);
  CHECK(grid.num_blocks % grid.heads_abreast == 0);
  CHECK(grid.num_blocks > 255);
  CHECK(grid.combine);
  CHECK(grid.combine_x == static_cast<unsigned>(grid.num_blocks));
  CHECK(grid.combine_y == 2);
  grid = grid_of(splitting(), &combine, query(1, 300));
  CHECK(grid.num_blocks == 16 * 3);
  CHECK(grid.combine_x == 16);
  grid = grid_of(splitting(), &combine, query(1, 0));
  CHECK(grid.num_blocks == 16);
  CHECK(!grid.combine);
}

TEST_CASE("combine follows exactly where a unit may lie in more than one piece") {
  const Geometry combine = merging();
  CHECK(!grid_of(splitting(), &combine, query(4, 128)).combine);
  CHECK(grid_of(splitting(), &combine, query(4, 129)).combine);
  CHECK(!grid_of(splitting(), &combine, query(4, 5000, 1)).combine);
  CHECK(grid_of(splitting(), &combine, query(4, 64, 3)).combine);
}

TEST_CASE("forced splits give as many blocks a unit") {
  const Geometry combine = merging();
  const Grid grid = grid_of(splitting(), &combine, query(3, 5000, 7));
  CHECK(grid.num_blocks == 3 * 8 * 2 * 7);
  CHECK(grid.splits == 7);
  CHECK(grid.heads_abreast == 1);
  CHECK(grid.combine_x == 48);
}

TEST_CASE("a family that does not split takes a block a unit and refuses forced splits") {
  Geometry g = splitting();
  g.splits_kv = false;
  const Grid grid = grid_of(g, nullptr, query(3, 5000));
  CHECK(grid.num_blocks == 48);
  CHECK(grid.splits == 1);
  CHECK(!grid.combine);
  CHECK_THROWS_AS(grid_of(g, nullptr, query(3, 5000, 2)), Error);
}

TEST_CASE("a grid beyond the hardware's limit is refused before it overflows") {
  const Geometry combine = merging();
  CHECK_THROWS_AS(grid_of(splitting(), &combine, query(2'000'000'000, 1)), Error);
  CHECK_THROWS_AS(grid_of(splitting(), &combine, query(1'000'000, 1, 1'000'000)), Error);
}

TEST_CASE("workspace bytes are monotonic and bounded by the grid") {
  long long before = 0;
  for (const int batch : {1, 2, 3, 17, 300, 100'000}) {
    long long shorter = 0;
    for (const long long len : {0LL, 1LL, 128LL, 129LL, 4096LL, 1LL << 31}) {
      const long long bytes = workspace_bytes_of(splitting(), query(batch, len));
      CHECK(bytes >= shorter);
      shorter = bytes;
    }
    CHECK(shorter >= before);
    before = shorter;
  }
  CHECK(before <= workspace_layout(264, 16, 128).total);
}

TEST_CASE("numbers of a call that make no sense are refused, naming field and value") {
  Spec spec;
  spec.num_q_heads = spec.num_kv_heads = 8;
  const auto refusal = [&spec](auto change) -> std::string {
    qrow_args args{};  // a batch of 0: nothing else is asked for
    change(args);
    try {
      check_args(spec, args);
    } catch (const Error& error) {
      CHECK(error.status() == Status::invalid_argument);
      return error.what();
    }
    return {};
  };
  CHECK(refusal([](qrow_args&) {}).empty());
  CHECK(refusal([](qrow_args& a) { a.softcap = -5; }).starts_with("args.softcap is -5"));
  CHECK(refusal([](qrow_args& a) { a.softcap = INFINITY; }).starts_with("args.softcap is inf"));
  CHECK(refusal([](qrow_args& a) { a.window = -1; }).starts_with("args.window is -1"));
  CHECK(refusal([](qrow_args& a) { a.num_pages = -1; }).starts_with("args.num_pages is -1"));
  spec.softcap = 1;
  CHECK(refusal([](qrow_args& a) { a.batch = 1; }).starts_with("args.softcap is 0"));
  spec.softcap = 0;
  spec.window = 1;
  CHECK(refusal([](qrow_args& a) { a.batch = 1; }).starts_with("args.window is 0"));
}
