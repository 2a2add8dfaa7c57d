// What is persisted: a golden file of each format, the schema's numbers, and rules that the code
// must keep.
#include <doctest/doctest.h>

#include <cctype>

#include "cache/export.hpp"
#include "cache/kernel_rows.hpp"
#include "cache/sqlite.hpp"
#include "cache/store_file.hpp"
#include "cache/tuning_rows.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

const std::string kGolden = std::string(QROW_SOURCE_DIR) + "/tests/golden/cache/format-1.sqlite";

// The rows from which the golden file was exported.
std::vector<KernelRow> golden_rows() {
  std::vector<KernelRow> rows;
  for (const int number : {1, 2, 3}) rows.push_back(sample_row(number, 1000));
  rows.push_back(rows[0]);
  rows.back().nvrtc_build = "12.9.86";
  ++rows.back().created_unix;
  return rows;
}

}  // namespace

TEST_CASE("the golden file of format 1 opens and its rows are those that were stored") {
  auto seed = open_seed(kGolden);
  REQUIRE_MESSAGE(seed->available(), seed->unavailable_reason());
  for (const KernelRow& row : golden_rows()) CHECK(has(*seed, row));
  const auto builds = seed->find(golden_rows()[0].key, golden_rows()[0].key_text);
  REQUIRE(builds.size() == 2);
  CHECK(builds[0].nvrtc_build == "12.9.86");
  CHECK(seed->counts().kernels == 4);
}

TEST_CASE("an export of the golden rows has the golden file's tables and rows") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (const KernelRow& row : golden_rows()) REQUIRE(store->put(row, nullptr));
  export_cache(*store, folder.file("seed"), {});
  const auto dump = [](const std::string& file) {
    sqlite::Database database = sqlite::Database::open(file, sqlite::Access::immutable, "");
    std::string text;
    {
      sqlite::Cursor schema =
          database.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
      while (schema.step()) text += fmt::format("{}\n", schema.text(0));
    }
    sqlite::Cursor rows = database.query(
        "SELECT hex(key), nvrtc_build, hex(checksum), created_unix, pinned FROM kernel ORDER BY "
        "rowid");
    while (rows.step()) {
      for (int column = 0; column < 5; ++column) text += fmt::format("{} ", rows.text(column));
      text += '\n';
    }
    return text;
  };
  CHECK(dump(folder.file("seed")) == dump(kGolden));
}

TEST_CASE("the checksums of rows do not change between versions") {
  const KernelRow row = sample_row(1, 1000);
  CHECK(kernel_checksum(row).hex() == "055eb6652e4bee29b09f3134b8230d04");
  CHECK(tuning_checksum(TuningRow{}).hex() == "452065223af9d08f6fd7a8c78c6efbd5");
}

TEST_CASE("a checksum covers every field that decides how a kernel is used") {
  const KernelRow row = sample_row(1, 100);
  const Digest sum = kernel_checksum(row);
  const auto changed = [&](auto change) {
    KernelRow other = row;
    change(other);
    return kernel_checksum(other) != sum;
  };
  CHECK(changed([](KernelRow& r) { r.key.low ^= 1; }));
  CHECK(changed([](KernelRow& r) { r.key_text += ' '; }));
  CHECK(changed([](KernelRow& r) { r.family += 'x'; }));
  CHECK(changed([](KernelRow& r) { r.arch += 'a'; }));
  CHECK(changed([](KernelRow& r) { r.entry_name += '1'; }));
  CHECK(changed([](KernelRow& r) { r.nvrtc_build += '1'; }));
  CHECK(changed([](KernelRow& r) { r.options += ' '; }));
  CHECK(changed([](KernelRow& r) { ++r.registers; }));
  CHECK(changed([](KernelRow& r) { ++r.spill_bytes; }));
  CHECK(changed([](KernelRow& r) { ++r.stack_bytes; }));
  CHECK(changed([](KernelRow& r) { ++r.smem_bytes; }));
  CHECK(changed([](KernelRow& r) { r.cubin[7] ^= std::byte{1}; }));
  CHECK(changed([](KernelRow& r) { r.cubin.pop_back(); }));
  // A byte that moves from one text to the next is another row.
  CHECK(changed([](KernelRow& r) {
    r.arch += r.entry_name[0];
    r.entry_name.erase(0, 1);
  }));
  CHECK_FALSE(changed([](KernelRow& r) { r.pinned = true; }));
}

TEST_CASE("the schema's numbers are those of the code, and freed pages can be given back") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->available());
  sqlite::Database database = sqlite::Database::open(folder.file(), sqlite::Access::read_only, "");
  CHECK(database.number("PRAGMA user_version") == kCacheFormat);
  CHECK(database.number("PRAGMA application_id") == kApplicationId);
  CHECK(database.number("PRAGMA auto_vacuum") == 2);
}

TEST_CASE(
    "cache/ opens databases in one place and begins no transaction that reads before it may "
    "write") {
  int opens = 0, begins = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(QROW_SOURCE_DIR) + "/cache")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".hpp") continue;
    const std::string text = bytes_of(entry.path().string());
    for (std::size_t at = 0; (at = text.find("sqlite3_open", at)) != std::string::npos; ++at)
      ++opens;
    for (std::size_t at = 0; (at = text.find("\"BEGIN", at)) != std::string::npos; ++at) {
      ++begins;
      CHECK(text.compare(at, 17, "\"BEGIN IMMEDIATE\"") == 0);
    }
  }
  CHECK(opens == 1);
  CHECK(begins == 1);
}
