#include "cache/kernel_store.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

TEST_CASE("a kernel comes back as it was stored, also from another store") {
  const Folder folder;
  KernelRow row = sample_row(1);
  row.spill_bytes = 3;
  row.stack_bytes = 4;
  row.pinned = true;
  {
    auto store = open_store(folder.file());
    REQUIRE(store->available());
    std::string reason;
    REQUIRE_MESSAGE(store->put(row, &reason), reason);
    CHECK(has(*store, row));
  }
  auto store = open_store(folder.file());
  const auto found = store->find(row.key, row.key_text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == row.key);
  CHECK(found[0].key_text == row.key_text);
  CHECK(found[0].family == row.family);
  CHECK(found[0].arch == row.arch);
  CHECK(found[0].entry_name == row.entry_name);
  CHECK(found[0].nvrtc_build == row.nvrtc_build);
  CHECK(found[0].options == row.options);
  CHECK(found[0].case_line == row.case_line);
  CHECK(found[0].cubin == row.cubin);
  CHECK(found[0].cubin_bytes == 50'000);
  CHECK(found[0].registers == row.registers);
  CHECK(found[0].spill_bytes == 3);
  CHECK(found[0].stack_bytes == 4);
  CHECK(found[0].smem_bytes == row.smem_bytes);
  CHECK(found[0].compile_ms == row.compile_ms);
  CHECK(found[0].created_unix == row.created_unix);
  CHECK(found[0].pinned);
}

TEST_CASE("a row without a time gets the time of its storing") {
  const Folder folder;
  auto store = open_store(folder.file());
  KernelRow row = sample_row(1);
  row.created_unix = 0;
  REQUIRE(store->put(row, nullptr));
  CHECK(store->find(row.key, row.key_text).at(0).created_unix > 1'700'000'000);
}

TEST_CASE("a kernel with the digest but not the text of the question is a miss") {
  const Folder folder;
  auto store = open_store(folder.file());
  KernelRow collision = sample_row(1);
  const KernelRow asked = sample_row(2);
  collision.key = asked.key;
  REQUIRE(store->put(collision, nullptr));
  CHECK(store->find(asked.key, asked.key_text).empty());
  CHECK(store->counts().corrupt == 0);
  CHECK(store->find(asked.key, collision.key_text).size() == 1);
}

TEST_CASE("kernels of several NVRTC builds come newest first") {
  const Folder folder;
  auto store = open_store(folder.file());
  KernelRow row = sample_row(1);
  row.nvrtc_build = "13.0.88";
  row.created_unix = 2000;
  REQUIRE(store->put(row, nullptr));
  row.nvrtc_build = "12.9.86";
  row.created_unix = 3000;
  REQUIRE(store->put(row, nullptr));
  row.nvrtc_build = "13.1.7";
  row.created_unix = 1000;
  REQUIRE(store->put(row, nullptr));
  const auto found = store->find(row.key, row.key_text);
  REQUIRE(found.size() == 3);
  CHECK(found[0].nvrtc_build == "12.9.86");
  CHECK(found[1].nvrtc_build == "13.0.88");
  CHECK(found[2].nvrtc_build == "13.1.7");
}

TEST_CASE("storing the same key and NVRTC build again replaces the row and keeps it pinned") {
  const Folder folder;
  auto store = open_store(folder.file());
  KernelRow row = sample_row(1);
  row.pinned = true;
  REQUIRE(store->put(row, nullptr));
  row.registers = 99;
  row.pinned = false;
  REQUIRE(store->put(row, nullptr));
  const auto found = store->find(row.key, row.key_text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].registers == 99);
  CHECK(found[0].pinned);
}

TEST_CASE("a removed build is gone and the other builds stay") {
  const Folder folder;
  auto store = open_store(folder.file());
  KernelRow row = sample_row(1);
  REQUIRE(store->put(row, nullptr));
  row.nvrtc_build = "12.9.86";
  REQUIRE(store->put(row, nullptr));
  store->remove(row.key, "13.0.88");
  const auto found = store->find(row.key, row.key_text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].nvrtc_build == "12.9.86");
}

TEST_CASE("a list is ordered, filtered and leaves the cubins out") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (const int number : {3, 1, 2, 4}) REQUIRE(store->put(sample_row(number), nullptr));
  const auto all = store->list("", "");
  REQUIRE(all.size() == 4);
  CHECK(all[0].key_text == sample_row(2).key_text);
  CHECK(all[1].key_text == sample_row(4).key_text);
  CHECK(all[2].key_text == sample_row(1).key_text);
  CHECK(all[3].key_text == sample_row(3).key_text);
  CHECK(all[0].cubin.empty());
  CHECK(all[0].cubin_bytes == 50'000);
  CHECK(store->list("sm_80", "").size() == 2);
  CHECK(store->list("sm_80", "synthetic").size() == 2);
  CHECK(store->list("", "other").empty());
}

TEST_CASE("a kernel is found by the beginning of its hex key") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (int number = 0; number < 20; ++number) REQUIRE(store->put(sample_row(number, 100), nullptr));
  const KernelRow row = sample_row(7, 100);
  const auto found = store->find_prefix(row.key.hex().substr(0, 12));
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == row.key);
  CHECK(found[0].cubin == row.cubin);
  CHECK(store->find_prefix("").size() == 20);
  CHECK(store->find_prefix("zz").empty());
}

TEST_CASE("the counts say what the file holds") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  KernelRow pinned = sample_row(2, 1000);
  pinned.pinned = true;
  REQUIRE(store->put(pinned, nullptr));
  const StoreCounts counts = store->counts();
  CHECK(counts.kernels == 2);
  CHECK(counts.pinned == 1);
  CHECK(counts.tunings == 0);
  CHECK(counts.cubin_bytes == 51'000);
  CHECK(counts.file_bytes >= 51'000);
  CHECK(counts.corrupt == 0);
  CHECK(counts.errors == 0);
}

TEST_CASE("a flipped byte of a cubin is a miss, counted, warned of, and the row is removed") {
  const Folder folder;
  const KernelRow row = sample_row(1), other = sample_row(2);
  {
    auto store = open_store(folder.file());
    REQUIRE(store->put(row, nullptr));
    REQUIRE(store->put(other, nullptr));
  }
  flip_cubin_byte(folder.file(), row);

  Recorder recorder;
  auto store = open_store(folder.file(), recorder.log());
  CHECK(store->find(row.key, row.key_text).empty());
  CHECK(store->counts().corrupt == 1);
  CHECK(store->corrupt_seen() == 1);
  CHECK(warned_once(recorder, "checksum"));
  CHECK(store->counts().kernels == 1);
  CHECK(has(*store, other));
  REQUIRE(store->put(row, nullptr));
  CHECK(has(*store, row));
}

TEST_CASE("a flipped byte anywhere in a row is a miss or the row as it was, never other bytes") {
  const Folder folder;
  const KernelRow row = sample_row(1, 600);
  {
    auto store = open_store(folder.file());
    REQUIRE(store->put(row, nullptr));
  }
  const std::string sound = bytes_of(folder.file());
  const std::size_t text = sound.find(row.key_text);
  REQUIRE(text != std::string::npos);
  int hits = 0, misses = 0;
  for (std::size_t i = text - 300; i < text + 700; i += 13) {
    std::string bytes = sound;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    write_bytes(folder.file("flipped.sqlite"), bytes);
    auto store = open_store(folder.file("flipped.sqlite"));
    const auto found = store->find(row.key, row.key_text);
    if (found.empty()) ++misses;
    for (const KernelRow& kernel : found) {
      ++hits;
      CHECK(kernel.cubin == row.cubin);
      CHECK(kernel.registers == row.registers);
      CHECK(kernel.entry_name == row.entry_name);
    }
    REQUIRE(store->put(row, nullptr));
    CHECK(has(*store, row));
    store.reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().filename().string().starts_with("flipped"))
        std::filesystem::remove_all(entry.path());
    }
  }
  CHECK(hits + misses >= 76);
  CHECK(misses > 40);
}

TEST_CASE("a store that must work throws where it cannot") {
  StoreOptions options;
  options.path = "/proc/qrow/cache.sqlite";
  try {
    KernelStore::open(options, true);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.status() == Status::cache);
    CHECK(contains(error.what(), "/proc/qrow"));
  }
}

TEST_CASE("a store on a file system shared by hosts uses a rollback journal and says so once") {
  const Folder folder;
  Recorder recorder;
  const KernelRow row = sample_row(1);
  REQUIRE(
      open_store(folder.file())->put(row, nullptr));  // made with a write-ahead log on a local disk
  StoreOptions options;
  options.path = folder.file();
  options.log = recorder.log();
  options.remote_file_system = true;
  auto store = KernelStore::open(options);
  REQUIRE(store->available());
  CHECK(has(*store, row));
  REQUIRE(store->put(sample_row(2), nullptr));
  CHECK(has(*store, sample_row(2)));
  CHECK_FALSE(std::filesystem::exists(folder.file() + "-wal"));
  CHECK(bytes_of(folder.file())[18] == 1);
  CHECK(warned_once(recorder, "rollback journal"));
  CHECK(recorder.warnings().size() == 1);
  store.reset();
  CHECK(has(*open_store(folder.file()), row));
  CHECK(bytes_of(folder.file())[18] == 2);
}
