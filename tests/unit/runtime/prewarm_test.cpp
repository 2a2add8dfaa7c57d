#include "runtime/prewarm.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>

#include "jit/entry.hpp"
#include "tests/temporary_folder.hpp"

using namespace qrow;

namespace {

std::vector<Case> cases_of(std::initializer_list<const char*> lines) {
  std::vector<Case> cases;
  for (const char* line : lines) cases.push_back(parse_case(line));
  return cases;
}

std::vector<PrewarmItem> list(std::initializer_list<const char*> lines, const Shard& shard = {}) {
  return list_prewarm(cases_of(lines), {&arch_by_name("sm_90a")}, shard);
}

// As if the kernels had been made, by NVRTC `build`.
void store(const std::string& path, const std::vector<PrewarmItem>& items, const char* build) {
  StoreOptions options;
  options.path = path;
  const auto store = KernelStore::open(options, true);
  for (const PrewarmItem& item : items) {
    KernelRow row;
    row.key = item.key.digest;
    row.key_text = item.key.text;
    row.family = item.family;
    row.arch = item.arch->name;
    row.entry_name = entry_name(item.variant, item.key);
    row.nvrtc_build = build;
    row.cubin.assign(100, std::byte{1});
    REQUIRE(store->put(row, nullptr));
  }
}

ProviderOptions options_of(const std::string& path) {
  ProviderOptions options;
  options.cache_path = path;
  options.cache_only = true;
  return options;
}

}  // namespace

TEST_CASE("equal kernels of one spec are listed once, those of an earlier spec as repeats") {
  const std::vector<PrewarmItem> items =
      list({"heads=64/8 rows=2 kv=e4m3", "heads=32/4 rows=2 kv=e4m3"});
  std::set<std::pair<std::string, Digest>> seen;
  std::set<Digest> keys;
  bool repeated = false;
  for (const PrewarmItem& item : items) {
    CHECK(item.refusal == "");
    CHECK(seen.insert({item.case_line, item.key.digest}).second);
    CHECK(item.repeats == !keys.insert(item.key.digest).second);
    repeated |= item.repeats;
  }
  CHECK(repeated);  // both have groups of 8
}

TEST_CASE("specs that differ in rows alone get the same kernels together as one by one") {
  const std::vector<const char*> lines = {"heads=64/8 rows=9",
                                          "heads=64/8 rows=2",
                                          "heads=64/8 rows=30",
                                          "heads=64/8 mask=tree",
                                          "heads=64/8 rows=4 tuning=num_stages:2",
                                          "heads=64/8"};
  std::vector<Case> together;
  std::vector<std::pair<std::string, Digest>> expected, found;
  for (const char* line : lines) {
    together.push_back(parse_case(line));
    for (const PrewarmItem& item : list({line}))
      expected.emplace_back(item.case_line, item.key.digest);
  }
  for (const PrewarmItem& item : list_prewarm(together, {&arch_by_name("sm_90a")}))
    found.emplace_back(item.case_line, item.key.digest);
  CHECK(found == expected);
}

TEST_CASE("a list of specs asks once for each number of rows, so that a thousand take no time") {
  std::vector<Case> cases;
  for (int rows = 1; rows <= 1024; ++rows)
    cases.push_back(parse_case("heads=64/8 rows=" + std::to_string(rows)));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(list_prewarm(cases, {&arch_by_name("sm_90a")}).size() > 1024);
  // 40 s where every spec asked about all its buckets, 0.3 s so.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("what an arch cannot serve is listed with its reason") {
  const std::vector<PrewarmItem> items = list({"heads=64/8 mask=tree"});
  REQUIRE(items.size() == 1);
  CHECK(items[0].refusal_status == Status::unsupported);
  CHECK(items[0].refusal.find("decode_mma") != std::string::npos);
}

TEST_CASE("shards divide the distinct kernels without gap or overlap") {
  std::set<Digest> all, together;
  for (const PrewarmItem& item : list({"heads=64/8 rows=4 kv=e4m3", "heads=20/4 rows=4"}))
    all.insert(item.key.digest);
  std::size_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    std::set<Digest> mine;
    for (const PrewarmItem& item : list({"heads=64/8 rows=4 kv=e4m3", "heads=20/4 rows=4"}, {i, 3}))
      mine.insert(item.key.digest);
    sum += mine.size();
    together.merge(mine);
  }
  CHECK(together == all);
  CHECK(sum == all.size());
  CHECK_THROWS_AS(list({"heads=8/8"}, {3, 3}), Error);
}

TEST_CASE("a full cache makes every item a hit, repeats come from memory") {
  TemporaryFolder folder;
  const std::vector<PrewarmItem> items =
      list({"heads=64/8 rows=2 kv=e4m3", "heads=32/4 rows=2 kv=e4m3"});
  store(folder.file("c.db"), items, "13.0.88");
  KernelProvider provider(options_of(folder.file("c.db")));
  PrewarmRun run;
  run.threads = 2;
  int done = 0;
  run.on_item = [&](const PrewarmOutcome& outcome) {
    CHECK(outcome.done == ++done);
    CHECK(outcome.source == (outcome.item->repeats ? Source::memory : Source::user));
    CHECK(outcome.cubin_bytes == 100);
  };
  const PrewarmTotals totals = prewarm(provider, items, run);
  CHECK(totals.items == static_cast<int>(items.size()));
  CHECK(done == totals.items);
  CHECK(totals.hits + totals.memory == totals.items);
  CHECK(totals.memory > 0);
  CHECK(totals.failed == 0);
}

TEST_CASE("an item that fails does not stop the others, and the first failure is told") {
  TemporaryFolder folder;
  std::vector<PrewarmItem> items = list({"heads=64/8 mask=tree", "heads=64/8 rows=2 kv=e4m3"});
  std::vector<PrewarmItem> some;
  for (const PrewarmItem& item : items) {
    if (item.refusal.empty() && some.empty()) some.push_back(item);
  }
  store(folder.file("c.db"), some, "13.0.88");
  KernelProvider provider(options_of(folder.file("c.db")));
  const PrewarmTotals totals = prewarm(provider, items, {});
  CHECK(totals.hits == 1);
  CHECK(totals.failed == totals.items - 1);
  CHECK(totals.first_failure == Status::unsupported);
  CHECK(provider.counts().not_cached == static_cast<unsigned long long>(totals.failed - 1));
}

TEST_CASE("a cancelled prewarm keeps what is done and says so") {
  TemporaryFolder folder;
  const std::vector<PrewarmItem> items = list({"heads=64/8 rows=4 kv=e4m3", "heads=20/4 rows=4"});
  store(folder.file("c.db"), items, "13.0.88");
  KernelProvider provider(options_of(folder.file("c.db")));
  std::atomic<bool> cancel{false};
  PrewarmRun run;
  run.threads = 1;
  run.cancel = &cancel;
  run.on_item = [&](const PrewarmOutcome&) { cancel = true; };
  const PrewarmTotals totals = prewarm(provider, items, run);
  CHECK(totals.cancelled);
  CHECK(totals.hits >= 1);
  CHECK(totals.hits < totals.items);
}

TEST_CASE("an exception of the callback ends the prewarm and reaches the caller") {
  TemporaryFolder folder;
  const std::vector<PrewarmItem> items = list({"heads=64/8 rows=2 kv=e4m3"});
  store(folder.file("c.db"), items, "13.0.88");
  KernelProvider provider(options_of(folder.file("c.db")));
  PrewarmRun run;
  run.on_item = [](const PrewarmOutcome&) { throw std::runtime_error("no space for the report"); };
  CHECK_THROWS_WITH(prewarm(provider, items, run), "no space for the report");
}
