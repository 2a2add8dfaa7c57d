// The main job through the command line: prewarm, look up again, move to another machine. Compiles
// a few kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "jit/nvrtc.hpp"
#include "tests/cli/process.hpp"
#include "tests/skip.hpp"

namespace qrow {
namespace {

const std::string kModels = QROW_SOURCE_DIR "/tests/cases/models/";

bool can_compile() {
  std::string why;
  if (Nvrtc::try_get(&why) != nullptr) return true;
  skip_case("no NVRTC");
  return false;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::set<std::string> keys_of(const std::vector<JsonReader>& records) {
  std::set<std::string> keys;
  for (const JsonReader* item : items_of(records)) keys.insert(*item->text("$.key"));
  return keys;
}

void check_item(const JsonReader& item) {
  for (const char* field : {"regs", "spill_bytes", "stack_bytes", "smem_bytes", "cubin_bytes"}) {
    CAPTURE(field);
    CHECK(item.integer(std::string("$.") + field).has_value());
  }
  for (const char* field : {"case", "key", "arch", "family", "source"})
    CHECK_FALSE(item.text(std::string("$.") + field).value_or("").empty());
  CHECK(item.number("$.ms").has_value());
  CHECK(item.text("$.key")->size() == 32);
  CHECK(item.integer("$.regs") > 0);
  CHECK(item.integer("$.cubin_bytes") > 0);
  CHECK(item.integer("$.spill_bytes") == 0);
}

TEST_CASE(
    "a prewarmed cache serves every kernel again, also from an export on another path without a "
    "compiler") {
  if (!can_compile()) return;
  TemporaryFolder folder;
  const std::string first = folder.file("first.sqlite"), second = folder.file("second.sqlite");
  const std::string file = folder.file("export.sqlite");
  const std::vector<std::string> prewarm = {"prewarm", "heads=16/2 d=64 rows=2 kv=e4m3", "--arch",
                                            "sm_90a", "--json"};
  auto with_cache = [&](std::vector<std::string> words, const std::string& cache) {
    words.insert(words.end(), {"--cache", cache});
    return words;
  };

  Ran made = run_qrow(with_cache(prewarm, first));
  CAPTURE(made.err);
  REQUIRE(made.code == 0);
  std::vector<JsonReader> records = records_of(made);
  for (const JsonReader* item : items_of(records)) check_item(*item);
  long long items = total_of(records, "items");
  CHECK(items >= 2);
  CHECK(total_of(records, "compiled") == items);

  Ran again = run_qrow(with_cache(prewarm, first));
  CHECK(again.code == 0);
  std::vector<JsonReader> found = records_of(again);
  CHECK(total_of(found, "compiled") == 0);
  CHECK(total_of(found, "hits") == items);
  for (const JsonReader* item : items_of(found)) {
    check_item(*item);
    CHECK(item->text("$.source") == "user");
  }

  REQUIRE(run_qrow(with_cache({"export", file}, first)).code == 0);
  REQUIRE(run_qrow(with_cache({"import", file}, second)).code == 0);
  Environment no_compiler = {{"QROW_NVRTC", "/nonexistent/libnvrtc.so"}};
  Ran moved = run_qrow(with_cache(prewarm, second), no_compiler);
  CAPTURE(moved.err);
  CHECK(moved.code == 0);
  std::vector<JsonReader> served = records_of(moved);
  CHECK(total_of(served, "hits") == items);
  CHECK(keys_of(served) == keys_of(records));

  // The export is a seed as it is.
  Ran seeded = run_qrow(with_cache(prewarm, folder.file("third.sqlite")),
                        {{"QROW_NVRTC", "/nonexistent/libnvrtc.so"}, {"QROW_SEEDS", file}});
  CAPTURE(seeded.err);
  CHECK(seeded.code == 0);
  std::vector<JsonReader> from_seed = records_of(seeded);
  for (const JsonReader* item : items_of(from_seed)) CHECK(item->text("$.source") == "seed");

  Ran list = run_qrow(with_cache({"list", "--json"}, second));
  CHECK(keys_of(records_of(list)) == keys_of(records));
  const std::string key = *keys_of(records).begin();
  Ran show = run_qrow(with_cache({"show", key.substr(0, 12), "--json"}, second));
  CHECK(show.code == 0);
  CHECK(records_of(show).at(0).text("$.key") == key);
  Ran explain = run_qrow(with_cache(
      {"explain", "heads=16/2 d=64 rows=2 kv=e4m3 batch=1 len=512", "--arch", "90", "--json"},
      second));
  CHECK(explain.code == 0);
  CHECK(records_of(explain).at(0).boolean("$.picks[0].kernels[0].hit") == true);
  Ran miss = run_qrow(
      with_cache({"explain", "heads=16/2 d=64 rows=2 kv=e4m3 page=32", "--arch", "90"}, second));
  CHECK(miss.code == 0);
  CHECK(contains(miss.out, "differs in"));
  CHECK(run_qrow(with_cache({"show", "ffffffffffffffff"}, second)).code == 1);
  CHECK(run_qrow(with_cache({"cache", "verify"}, second)).code == 0);
  CHECK(run_qrow(with_cache({"cache", "clear"}, second)).code == 0);
  CHECK(run_qrow(with_cache({"list", "--json"}, second)).out.empty());
}

TEST_CASE("an interrupted prewarm keeps what it made, says so, and goes on from there") {
  if (!can_compile()) return;
  TemporaryFolder folder;
  const std::string cache = folder.file("c.sqlite");
  const std::vector<std::string> prewarm = {"prewarm",
                                            "heads=4/1 d=64 rows=1",
                                            "heads=5/1 d=64 rows=3",
                                            "heads=6/1 d=64 rows=5",
                                            "heads=7/1 d=64 rows=7",
                                            "heads=9/1 d=64 rows=8",
                                            "--arch",
                                            "sm_90a",
                                            "--jobs",
                                            "1",
                                            "--json",
                                            "--cache",
                                            cache};
  Ran stopped = run_qrow_and_interrupt(prewarm, 1);
  CAPTURE(stopped.err);
  CHECK(stopped.code == 1);
  CHECK(contains(stopped.err, "interrupted"));
  std::vector<JsonReader> records = records_of(stopped);
  CHECK(records.back().boolean("$.totals.cancelled") == true);
  std::set<std::string> kept = keys_of(records);
  CHECK(static_cast<long long>(items_of(records).size()) < total_of(records, "items"));

  std::set<std::string> stored =
      keys_of(records_of(run_qrow({"list", "--json", "--cache", cache})));
  CHECK(std::includes(stored.begin(), stored.end(), kept.begin(), kept.end()));
}

TEST_CASE("shards cover every kernel exactly once") {
  TemporaryFolder folder;
  auto keys_of_shard = [&](const char* shard) {
    Ran ran =
        run_qrow({"prewarm", "--model", kModels + "qwen3.6-35b-a3b.json", "--arch", "sm_80,sm_90a",
                  "--shard", shard, "--dry-run", "--json", "--cache", folder.file("c.sqlite")});
    CHECK(ran.code == 0);
    return keys_of(records_of(ran));
  };
  std::set<std::string> whole = keys_of_shard("1/1"), joined;
  std::size_t sum = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    std::set<std::string> part = keys_of_shard(shard);
    CHECK_FALSE(part.empty());
    sum += part.size();
    joined.insert(part.begin(), part.end());
  }
  CHECK(joined == whole);
  CHECK(sum == whole.size());
}

TEST_CASE(
    "the layers of the shipped models become specs, and what cannot be done is listed as refused") {
  TemporaryFolder folder;
  for (const char* name : {"qwen3.6-35b-a3b", "llama-3.3-70b", "gemma-4-31b"}) {
    CAPTURE(name);
    Ran ran = run_qrow({"prewarm", "--model", kModels + name + ".json", "--tp", "1,2", "--rows",
                        "1-8", "--kv", "bf16,e4m3", "--arch", "sm_80,sm_90a", "--dry-run", "--json",
                        "--cache", folder.file("c.sqlite")});
    CAPTURE(ran.err);
    std::vector<JsonReader> records = records_of(ran);
    CHECK(ran.code == (items_of(records).empty() ? 1 : 0));
    std::set<std::string> cases;
    int refused = 0;
    for (const JsonReader& record : records) {
      if (record.has("$.case")) cases.insert(*record.text("$.case"));
      if (!record.has("$.refused")) continue;
      ++refused;
      CHECK_FALSE(record.text("$.refused")->empty());
    }
    // Layer groups x tp x kv x rows, each with kernels or a reason.
    CHECK(cases.size() == (name == std::string("gemma-4-31b") ? 2U : 1U) * 2 * 2 * 8);
    CHECK(total_of(records, "refused") == refused);
    CHECK(refused + static_cast<int>(items_of(records).size()) > 0);
  }
}

TEST_CASE("a file that is no cache is refused by name and left as it is") {
  TemporaryFolder folder;
  const std::string file = folder.file("notes.txt");
  const std::string text = "not a cache\n";
  std::ofstream(file) << text;
  const std::vector<std::vector<std::string>> commands = {
      {"list"},
      {"cache", "stats"},
      {"cache", "clear"},
      {"explain", "heads=8/1", "--arch", "sm_90a"},
      {"export", folder.file("out.sqlite")},
      {"prewarm", "heads=8/1", "--arch", "sm_90a", "--dry-run"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--cache", file});
    const Ran ran = run_qrow(words);
    CAPTURE(words.front());
    CHECK(ran.code == 1);
    CHECK(contains(ran.err, "'" + file + "' is no qrow cache"));
  }
  std::ifstream stream(file);
  const std::string kept{std::istreambuf_iterator<char>(stream), {}};
  CHECK(kept == text);
}

TEST_CASE("explain and a dry run make no file") {
  TemporaryFolder folder;
  const std::string file = folder.file("none.sqlite");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"explain", "heads=8/1"},
        std::vector<std::string>{"prewarm", "heads=8/1", "--dry-run"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--arch", "sm_90a", "--cache", file});
    CHECK(run_qrow(all).code == 0);
    CHECK(std::filesystem::is_empty(std::filesystem::path(file).parent_path()));
  }
}

TEST_CASE("a dry run of refused specs alone has the exit code of the real run") {
  for (const char* dry : {"--quiet", "--dry-run"}) {
    TemporaryFolder folder;
    const Ran ran = run_qrow({"prewarm", "heads=8/1 window=5", "--arch", "sm_90a", dry, "--cache",
                              folder.file("c.sqlite")});
    CHECK(ran.code == 1);
    CHECK(contains(ran.out, "refused"));
  }
}

}  // namespace
}  // namespace qrow
