#include "cache/export.hpp"

#include <doctest/doctest.h>

#include "cache/layers.hpp"
#include "cache/sqlite.hpp"
#include "cache/store_access.hpp"
#include "cache/tuning_rows.hpp"
#include "runtime/base/error.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

template <typename Operation>
std::string error_of(const Operation& operation) {
  try {
    operation();
  } catch (const Error& error) {
    CHECK(error.status() == Status::cache);
    return error.what();
  }
  return {};
}

TuningRow sample_tuning(int number, std::int64_t samples = 10) {
  TuningRow row;
  row.spec = fmt::format("heads=64/8 rows={}", number);
  row.bucket_batch = 128;
  row.bucket_kv_len = 4096;
  row.bucket_rows = number;
  row.device_cc = 90;
  row.device_sms = 132;
  row.device_name = "H200";
  row.family = "decode_mma";
  row.tuning_version = 1;
  row.tuning = "tile_tokens:32";
  row.time_us = 147.25;
  row.samples = samples;
  row.nvrtc_build = "13.0.88";
  row.template_digest = digest_of("templates");
  row.created_unix = 1'700'000'000;
  return row;
}

void add_tuning(KernelStore& store, const TuningRow& row) {
  StoreAccess::write(store, [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    merge_tuning(database, row);
    transaction.commit();
  });
}

void flip_cubin_byte(const std::string& file, const KernelRow& row) {
  std::string bytes = bytes_of(file);
  const std::size_t place = bytes.find(std::string(reinterpret_cast<const char*>(row.cubin.data()), 32));
  REQUIRE(place != std::string::npos);
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  write_bytes(file, bytes);
}

}  // namespace

TEST_CASE("the same rows give the same export, in whatever order and state they were stored") {
  const Folder folder;
  auto first = open_store(folder.file("a")), second = open_store(folder.file("b"));
  for (int number = 0; number < 20; ++number) REQUIRE(first->put(sample_row(number), nullptr));
  for (int number = 19; number >= 0; --number) {
    KernelRow row = sample_row(number);
    row.pinned = number % 2 == 0;
    REQUIRE(second->put(row, nullptr));
    REQUIRE(second->put(sample_row(100 + number), nullptr));
    second->touch(row.key);
  }
  for (int number = 0; number < 20; ++number) second->remove(sample_row(100 + number).key, "13.0.88");
  for (int number = 0; number < 3; ++number) {
    add_tuning(*first, sample_tuning(number));
    add_tuning(*second, sample_tuning(2 - number));
  }
  const CacheReport report = export_cache(*first, folder.file("a.seed"), {});
  CHECK(report.kernels == 20);
  CHECK(report.tunings == 3);
  CHECK(report.bytes == 1'000'000);
  CHECK(report.bad == 0);
  export_cache(*second, folder.file("b.seed"), {});
  CHECK(bytes_of(folder.file("a.seed")) == bytes_of(folder.file("b.seed")));
  export_cache(*first, folder.file("a.seed"), {});
  CHECK(bytes_of(folder.file("a.seed")) == bytes_of(folder.file("b.seed")));
}

TEST_CASE("an export is one file in rollback mode that a read-only folder can serve, and is never written") {
  const Folder folder;
  const std::string seeds = folder.path() + "/seeds";
  std::filesystem::create_directory(seeds);
  {
    auto store = open_store(folder.file());
    REQUIRE(store->put(sample_row(1), nullptr));
    export_cache(*store, seeds + "/seed.sqlite", {});
  }
  const std::string before = bytes_of(seeds + "/seed.sqlite");
  CHECK(before[18] == 1);
  REQUIRE(::chmod(seeds.c_str(), 0555) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  CHECK(in_child([&] {
          if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
          auto seed = open_seed(seeds + "/seed.sqlite");
          if (!has(*seed, sample_row(1))) return 2;
          std::string reason;
          if (seed->put(sample_row(2), &reason)) return 3;
          seed->touch(sample_row(1).key);
          seed->remove(sample_row(1).key, "13.0.88");
          return has(*seed, sample_row(1)) ? 0 : 4;
        }) == 0);
  auto seed = open_seed(seeds + "/seed.sqlite");
  CHECK_FALSE(seed->put(sample_row(2), nullptr));
  seed.reset();
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(seeds)) ++files;
  CHECK(files == 1);
  CHECK(bytes_of(seeds + "/seed.sqlite") == before);
  REQUIRE(::chmod(seeds.c_str(), 0755) == 0);
}

TEST_CASE("a cache in use that nobody exported is not taken for a seed where its log cannot be read") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  auto seed = open_seed(folder.file());  // the log beside it holds the row
  CHECK(has(*seed, sample_row(1)));
}

TEST_CASE("filters choose by arch, by key and by kind") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (int number = 0; number < 6; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  add_tuning(*store, sample_tuning(1));
  ExportFilter filter;
  filter.arch = "sm_80";
  CHECK(export_cache(*store, folder.file("seed"), filter).kernels == 3);
  CHECK(open_seed(folder.file("seed"))->counts().kernels == 3);
  filter = {};
  filter.keys = {sample_row(1).key, sample_row(4).key};
  CHECK(export_cache(*store, folder.file("seed"), filter).kernels == 2);
  CHECK(has(*open_seed(folder.file("seed")), sample_row(4)));
  filter = {};
  filter.kernels = false;
  const CacheReport tunings = export_cache(*store, folder.file("seed"), filter);
  CHECK(tunings.kernels == 0);
  CHECK(tunings.tunings == 1);
  filter = {};
  filter.tunings = false;
  CHECK(export_cache(*store, folder.file("seed"), filter).tunings == 0);
}

TEST_CASE("imported rows are hits, pinned, and keep their time") {
  const Folder folder;
  {
    auto store = open_store(folder.file("from"));
    for (int number = 0; number < 5; ++number) REQUIRE(store->put(sample_row(number), nullptr));
    add_tuning(*store, sample_tuning(1));
    export_cache(*store, folder.file("seed"), {});
  }
  auto store = open_store(folder.file("into"));
  REQUIRE(store->put(sample_row(0), nullptr));
  const CacheReport report = import_cache(*store, folder.file("seed"));
  CHECK(report.kernels == 5);
  CHECK(report.tunings == 1);
  CHECK(store->counts().pinned == 5);
  CHECK(store->counts().tunings == 1);
  for (int number = 0; number < 5; ++number) {
    const auto found = store->find(sample_row(number).key, sample_row(number).key_text);
    REQUIRE(found.size() == 1);
    CHECK(found[0].cubin == sample_row(number).cubin);
    CHECK(found[0].created_unix == sample_row(number).created_unix);
  }
  export_cache(*store, folder.file("again"), {});
  CHECK(bytes_of(folder.file("again")) == bytes_of(folder.file("seed")));
}

TEST_CASE("an import keeps a newer row of the same build and pins it") {
  const Folder folder;
  auto from = open_store(folder.file("from")), into = open_store(folder.file("into"));
  KernelRow row = sample_row(1);
  row.registers = 10;
  REQUIRE(from->put(row, nullptr));
  export_cache(*from, folder.file("seed"), {});
  row.registers = 20;
  row.created_unix += 1;
  REQUIRE(into->put(row, nullptr));
  import_cache(*into, folder.file("seed"));
  const auto found = into->find(row.key, row.key_text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].registers == 20);
  CHECK(found[0].pinned);
}

TEST_CASE("an import refuses foreign, damaged, newer and missing files by name and changes nothing") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(9), nullptr));
  {
    auto from = open_store(folder.file("from"));
    for (int number = 0; number < 5; ++number) REQUIRE(from->put(sample_row(number), nullptr));
    export_cache(*from, folder.file("flipped"), {});
    export_cache(*from, folder.file("cut"), {});
    export_cache(*from, folder.file("newer"), {});
  }
  flip_cubin_byte(folder.file("flipped"), sample_row(3));
  write_bytes(folder.file("cut"), bytes_of(folder.file("cut")).substr(0, 100'000));
  std::string newer = bytes_of(folder.file("newer"));
  newer[63] = 9;  // user_version
  write_bytes(folder.file("newer"), newer);
  write_bytes(folder.file("text"), "hello, this is a text that somebody took for an export, long enough for a header of sqlite's");

  const std::pair<const char*, const char*> expected[] = {{"flipped", "is damaged: kernel " },
                                                          {"cut", "damaged"},
                                                          {"newer", "cache format 9, made by a newer qrow"},
                                                          {"text", "not an sqlite database"},
                                                          {"missing", "does not exist"}};
  for (const auto& [name, text] : expected) {
    const std::string error = error_of([&] { import_cache(*store, folder.file(name)); });
    CHECK_MESSAGE(contains(error, "cannot import '" + folder.file(name) + "'"), error);
    CHECK_MESSAGE(contains(error, text), error);
  }
  CHECK(store->counts().kernels == 1);
  CHECK(store->counts().errors == 0);
  CHECK(has(*store, sample_row(9)));
}

TEST_CASE("an import that does not fit imports nothing and says so") {
  const Folder folder;
  {
    auto from = open_store(folder.file("from"));
    for (int number = 0; number < 30; ++number) REQUIRE(from->put(sample_row(number), nullptr));
    export_cache(*from, folder.file("seed"), {});
  }
  auto store = open_store(folder.file(), {}, 1 << 20);
  const std::string error = error_of([&] { import_cache(*store, folder.file("seed")); });
  CHECK(contains(error, "does not fit"));
  CHECK(contains(error, "nothing was imported"));
  CHECK(store->counts().kernels == 0);
}

TEST_CASE("a merge is the union, newest row of a build first choice, the same in any order of files") {
  const Folder folder;
  auto a = open_store(folder.file("a.db")), b = open_store(folder.file("b.db"));
  for (int number = 0; number < 6; ++number) REQUIRE(a->put(sample_row(number), nullptr));
  for (int number = 4; number < 9; ++number) REQUIRE(b->put(sample_row(number), nullptr));
  KernelRow row = sample_row(5);
  row.created_unix += 5;
  row.registers = 77;
  REQUIRE(b->put(row, nullptr));
  row = sample_row(1);
  row.nvrtc_build = "12.9.86";
  REQUIRE(b->put(row, nullptr));
  add_tuning(*a, sample_tuning(1, 10));
  add_tuning(*b, sample_tuning(1, 20));
  add_tuning(*b, sample_tuning(2, 5));
  export_cache(*a, folder.file("a"), {});
  export_cache(*b, folder.file("b"), {});

  const CacheReport report = merge_caches(folder.file("ab"), {folder.file("a"), folder.file("b")});
  CHECK(report.kernels == 10);
  CHECK(report.tunings == 2);
  merge_caches(folder.file("ba"), {folder.file("b"), folder.file("a"), folder.file("b")});
  CHECK(bytes_of(folder.file("ab")) == bytes_of(folder.file("ba")));
  auto merged = open_seed(folder.file("ab"));
  CHECK(merged->find(sample_row(5).key, sample_row(5).key_text).at(0).registers == 77);
  CHECK(merged->find(sample_row(1).key, sample_row(1).key_text).size() == 2);

  merge_caches(folder.file("aa"), {folder.file("a")});
  CHECK(bytes_of(folder.file("aa")) == bytes_of(folder.file("a")));
  flip_cubin_byte(folder.file("b"), sample_row(7));
  const std::string error = error_of([&] { merge_caches(folder.file("out"), {folder.file("a"), folder.file("b")}); });
  CHECK(contains(error, "cannot merge '" + folder.file("b") + "': it is damaged"));
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST_CASE("an export into its own cache, a cache in use or a missing folder is refused and leaves nothing behind") {
  const Folder folder;
  auto store = open_store(folder.file()), other = open_store(folder.file("other"));
  REQUIRE(store->put(sample_row(1), nullptr));
  CHECK(contains(error_of([&] { export_cache(*store, folder.file(), {}); }), "into itself"));
  CHECK(contains(error_of([&] { export_cache(*store, folder.file("other"), {}); }), "a cache in use"));
  CHECK(contains(error_of([&] { export_cache(*store, folder.path() + "/no/seed", {}); }), folder.path() + "/no/seed"));
  CHECK(has(*store, sample_row(1)));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK_FALSE(contains(entry.path().string(), ".tmp"));
  }
}

TEST_CASE("verify reports damaged rows, and repairs only when asked") {
  const Folder folder;
  {
    auto store = open_store(folder.file());
    for (int number = 0; number < 5; ++number) REQUIRE(store->put(sample_row(number), nullptr));
    KernelRow mismatch = sample_row(6);
    mismatch.key = digest_of("another text");
    REQUIRE(store->put(mismatch, nullptr));
    add_tuning(*store, sample_tuning(1));
  }
  flip_cubin_byte(folder.file(), sample_row(3));
  auto store = open_store(folder.file());
  CacheReport report = verify_cache(*store, false);
  CHECK(report.kernels == 6);
  CHECK(report.tunings == 1);
  CHECK(report.bad == 2);
  REQUIRE(report.notes.size() == 2);
  CHECK(store->counts().kernels == 6);
  report = verify_cache(*store, true);
  CHECK(report.bad == 2);
  CHECK(store->counts().kernels == 4);
  report = verify_cache(*store, false);
  CHECK(report.bad == 0);
  CHECK(report.kernels == 4);
}

TEST_CASE("verify reports a file whose structure is broken, and with repair starts a new one") {
  const Folder folder;
  {
    auto store = open_store(folder.file());
    for (int number = 0; number < 40; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  }
  std::string bytes = bytes_of(folder.file());
  for (std::size_t i = 10 * 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_bytes(folder.file(), bytes);
  auto store = open_store(folder.file());
  CacheReport report = verify_cache(*store, false);
  CHECK(report.bad >= 1);
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".damaged-1"));
  report = verify_cache(*store, true);
  CHECK(report.bad >= 1);
  CHECK(std::filesystem::exists(folder.file() + ".damaged-1"));
  CHECK(verify_cache(*store, false).bad == 0);
  CHECK(store->put(sample_row(1), nullptr));
}

TEST_CASE("clear removes every row and gives the space back") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (int number = 0; number < 20; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  add_tuning(*store, sample_tuning(1));
  const CacheReport report = clear_cache(*store);
  CHECK(report.kernels == 20);
  CHECK(report.tunings == 1);
  CHECK(report.bytes == 1'000'000);
  CHECK(store->counts().kernels == 0);
  CHECK(store->counts().tunings == 0);
  store.reset();
  CHECK(std::filesystem::file_size(folder.file()) < 100'000);
}

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
