// Whatever lies at the path of a cache: a call goes on, and the log says what was found and done.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "cache/kernel_store.hpp"
#include "cache/store_file.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

// A sound cache file with `count` rows, closed.
void make_cache(const std::string& file, int count = 10) {
  auto store = open_store(file);
  for (int number = 0; number < count; ++number) REQUIRE(store->put(sample_row(number), nullptr));
}

void run_sql(const std::string& file, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

void works(KernelStore& store) {
  REQUIRE(store.available());
  const KernelRow row = sample_row(77);
  std::string reason;
  CHECK_MESSAGE(store.put(row, &reason), reason);
  CHECK(has(store, row));
}

}  // namespace

TEST_CASE("a file of garbage is renamed aside, with one warning, and a new cache takes its place") {
  const Folder folder;
  Recorder recorder;
  const std::string garbage(100'000, 'x');
  write_bytes(folder.file(), garbage);
  auto store = open_store(folder.file(), recorder.log());
  works(*store);
  CHECK(warned_once(recorder,
                    "it is not an sqlite database; renamed to '" + folder.file() + ".damaged-1'"));
  CHECK(recorder.warnings().size() == 1);
  CHECK(bytes_of(folder.file() + ".damaged-1") == garbage);
}

TEST_CASE("a truncated file is renamed aside and a new cache takes its place") {
  const Folder folder;
  make_cache(folder.file());
  const std::string bytes = bytes_of(folder.file());
  for (const std::size_t size : {std::size_t{50}, std::size_t{1000}, std::size_t{4096},
                                 std::size_t{50'000}, bytes.size() - 4096}) {
    Recorder recorder;
    write_bytes(folder.file(), bytes.substr(0, size));
    auto store = open_store(folder.file(), recorder.log());
    works(*store);
    CHECK(warned_once(recorder, "renamed to"));
  }
}

TEST_CASE("at most eight damaged files are kept") {
  const Folder folder;
  for (int round = 0; round < 10; ++round) {
    write_bytes(folder.file(), fmt::format("garbage {} {}", round, std::string(200, '.')));
    CHECK(open_store(folder.file())->available());
  }
  CHECK(std::filesystem::exists(folder.file() + ".damaged-8"));
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".damaged-9"));
  CHECK(contains(bytes_of(folder.file() + ".damaged-8"), "garbage 9"));
}

TEST_CASE("an empty file becomes a cache without a word") {
  const Folder folder;
  Recorder recorder;
  write_bytes(folder.file(), "");
  auto store = open_store(folder.file(), recorder.log());
  works(*store);
  CHECK(recorder.warnings().empty());
}

TEST_CASE("another program's database is refused by name and left as it is") {
  const Folder folder;
  run_sql(folder.file(), "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);");
  const std::string before = bytes_of(folder.file());
  Recorder recorder;
  auto store = open_store(folder.file(), recorder.log());
  CHECK_FALSE(store->available());
  CHECK(contains(store->unavailable_reason(), folder.file()));
  CHECK(contains(store->unavailable_reason(), "foreign sqlite database"));
  CHECK(warned_once(recorder, "kernels are kept in memory only"));
  std::string reason;
  CHECK_FALSE(store->put(sample_row(1), &reason));
  CHECK(contains(reason, "foreign"));
  CHECK(store->find(sample_row(1).key, sample_row(1).key_text).empty());
  store.reset();
  CHECK(bytes_of(folder.file()) == before);
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".locks"));
}

TEST_CASE("a file of a newer format is refused by name and left as it is") {
  const Folder folder;
  make_cache(folder.file(), 1);
  run_sql(folder.file(), "PRAGMA user_version = 7");
  const std::string before = bytes_of(folder.file());
  auto store = open_store(folder.file());
  CHECK_FALSE(store->available());
  CHECK(contains(store->unavailable_reason(),
                 "cache format 7, made by a newer qrow, and this one knows format 1"));
  store.reset();
  CHECK(bytes_of(folder.file()) == before);
}

TEST_CASE("a cache without its tables is damaged") {
  const Folder folder;
  make_cache(folder.file(), 1);
  run_sql(folder.file(), "DROP TABLE kernel");
  Recorder recorder;
  auto store = open_store(folder.file(), recorder.log());
  works(*store);
  CHECK(warned_once(recorder, "its tables are missing"));
}

TEST_CASE(
    "damage that shows only while the cache is used is set aside then, and the call goes on") {
  const Folder folder;
  make_cache(folder.file(), 40);
  std::string bytes = bytes_of(folder.file());
  // Everything behind the schema: trees and rows.
  for (std::size_t i = 8 * 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_bytes(folder.file(), bytes);
  Recorder recorder;
  auto store = open_store(folder.file(), recorder.log());
  for (int number = 0; number < 40; ++number) {
    CHECK_FALSE(has(*store, sample_row(number)));
    std::string reason;
    CHECK_MESSAGE(store->put(sample_row(number), &reason), reason);
    CHECK(has(*store, sample_row(number)));
  }
  CHECK(store->counts().errors >= 1);
  CHECK(std::filesystem::exists(folder.file() + ".damaged-1"));
}

TEST_CASE("damage found by two stores of one file is set aside once") {
  const Folder folder;
  make_cache(folder.file(), 40);
  auto first = open_store(folder.file()), second = open_store(folder.file());
  CHECK(first->counts().kernels == 40);
  CHECK(second->counts().kernels == 40);
  {
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 300 * 4096; ++i) file.put(static_cast<char>(i * 31));
  }
  for (int number = 0; number < 40; ++number) {
    first->find(sample_row(number).key, sample_row(number).key_text);
    second->find(sample_row(number).key, sample_row(number).key_text);
  }
  CHECK(first->put(sample_row(1), nullptr));
  CHECK(has(*second, sample_row(1)));
  CHECK(second->put(sample_row(2), nullptr));
  CHECK(has(*first, sample_row(2)));
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".damaged-2"));
}

TEST_CASE("a file that is removed while in use is made again, and its old log is not replayed") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  std::filesystem::remove(folder.file());  // not the log beside it
  auto other = open_store(folder.file());
  CHECK_FALSE(has(*other, sample_row(1)));
  REQUIRE(other->put(sample_row(2), nullptr));
  CHECK(has(*store, sample_row(2)));
  REQUIRE(store->put(sample_row(3), nullptr));
  store.reset();
  CHECK(has(*other, sample_row(2)));
  CHECK(has(*other, sample_row(3)));
  CHECK(has(*open_store(folder.file()), sample_row(3)));
}

TEST_CASE("a whole cache folder that is removed while in use is made again") {
  const Folder folder;
  auto store = open_store(folder.path() + "/sub/");
  REQUIRE(store->put(sample_row(1), nullptr));
  std::filesystem::remove_all(folder.path() + "/sub");
  CHECK_FALSE(has(*store, sample_row(1)));
  CHECK(store->put(sample_row(1), nullptr));
  CHECK(has(*store, sample_row(1)));
}

TEST_CASE("seeds that are foreign, damaged, newer, empty or missing are named and not used") {
  const Folder folder;
  run_sql(folder.file("foreign"), "CREATE TABLE theirs (a)");
  make_cache(folder.file("newer"), 1);
  run_sql(folder.file("newer"), "PRAGMA user_version = 2");
  write_bytes(folder.file("garbage"), std::string(500, 'g'));
  write_bytes(folder.file("empty"), "");
  const std::pair<const char*, const char*> expected[] = {{"foreign", "foreign sqlite database"},
                                                          {"newer", "made by a newer qrow"},
                                                          {"garbage", "not an sqlite database"},
                                                          {"empty", "is empty"},
                                                          {"missing", "does not exist"}};
  for (const auto& [name, text] : expected) {
    Recorder recorder;
    auto seed = open_seed(folder.file(name), recorder.log());
    CHECK_FALSE(seed->available());
    CHECK(contains(seed->unavailable_reason(), folder.file(name)));
    CHECK_MESSAGE(contains(seed->unavailable_reason(), text), seed->unavailable_reason());
    CHECK(warned_once(recorder, "it is not used"));
  }
  CHECK(bytes_of(folder.file("garbage")) == std::string(500, 'g'));
  CHECK_FALSE(std::filesystem::exists(folder.file("missing")));
}
