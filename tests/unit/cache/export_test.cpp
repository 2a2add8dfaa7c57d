#include "cache/export.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

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
  for (int number = 0; number < 20; ++number)
    second->remove(sample_row(100 + number).key, "13.0.88");
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

TEST_CASE(
    "an export is one file in rollback mode that a read-only folder can serve, and is never "
    "written") {
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

TEST_CASE(
    "a cache in use that nobody exported is not taken for a seed where its log cannot be read") {
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

TEST_CASE(
    "an import refuses foreign, damaged, newer and missing files by name and changes nothing") {
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
  write_bytes(folder.file("text"),
              "hello, this is a text that somebody took for an export, long enough for a header of "
              "sqlite's");

  const std::pair<const char*, const char*> expected[] = {
      {"flipped", "is damaged: kernel "},
      {"cut", "damaged"},
      {"newer", "cache format 9, made by a newer qrow"},
      {"text", "not an sqlite database"},
      {"missing", "does not exist"}};
  for (const auto& [file, text] : expected) {
    const std::string name = folder.file(file);
    const std::string error = error_of([&] { import_cache(*store, name); });
    CHECK_MESSAGE(contains(error, "cannot import '" + name + "'"), error);
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

TEST_CASE(
    "a merge is the union, newest row of a build first choice, the same in any order of files") {
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
  const std::string error = error_of([&] {
    merge_caches(folder.file("out"), {folder.file("a"), folder.file("b")});
  });
  CHECK(contains(error, "cannot merge '" + folder.file("b") + "': it is damaged"));
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST_CASE(
    "an export into its own cache, a cache in use or a missing folder is refused and leaves "
    "nothing behind") {
  const Folder folder;
  auto store = open_store(folder.file()), other = open_store(folder.file("other"));
  REQUIRE(store->put(sample_row(1), nullptr));
  CHECK(contains(error_of([&] { export_cache(*store, folder.file(), {}); }), "into itself"));
  CHECK(contains(error_of([&] { export_cache(*store, folder.file("other"), {}); }),
                 "a cache in use"));
  CHECK(contains(error_of([&] { export_cache(*store, folder.path() + "/no/seed", {}); }),
                 folder.path() + "/no/seed"));
  CHECK(has(*store, sample_row(1)));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK_FALSE(contains(entry.path().string(), ".tmp"));
  }
}
