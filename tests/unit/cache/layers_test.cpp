#include <doctest/doctest.h>

#include "cache/export.hpp"
#include "cache/layers.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

TEST_CASE("seeds are asked in order, then the user's file, and a seed hit is not copied") {
  const Folder folder;
  KernelRow row = sample_row(1);
  for (const int seed : {1, 2}) {
    auto store = open_store(folder.file("from" + std::to_string(seed)));
    row.registers = seed;
    REQUIRE(store->put(row, nullptr));
    export_cache(*store, folder.file("seed" + std::to_string(seed)), {});
  }
  std::vector<std::unique_ptr<KernelStore>> seeds;
  seeds.push_back(open_seed(folder.file("seed2")));
  seeds.push_back(open_seed(folder.file("seed1")));
  seeds.push_back(open_seed(folder.file("missing")));
  Layers layers(std::move(seeds), open_store(folder.file("user")));
  auto hits = layers.find(row.key, row.key_text);
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].row.registers == 2);
  CHECK(hits[0].from_seed);
  CHECK(hits[0].path == folder.file("seed2"));
  CHECK(hits[1].row.registers == 1);
  CHECK(layers.user()->counts().kernels == 0);
  row.registers = 3;
  REQUIRE(layers.user()->put(row, nullptr));
  hits = layers.find(row.key, row.key_text);
  REQUIRE(hits.size() == 3);
  CHECK(hits[2].row.registers == 3);
  CHECK_FALSE(hits[2].from_seed);
  Layers without_user({}, nullptr);
  CHECK(without_user.find(row.key, row.key_text).empty());
}
