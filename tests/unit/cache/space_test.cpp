// The size limit: who goes, who stays, and that the file shrinks.
#include "cache/space.hpp"

#include <doctest/doctest.h>

#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::int64_t file_bytes(const std::string& path) {
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

}  // namespace

TEST_CASE("three times the limit leaves a file within the limit that holds the latest kernels") {
  const Folder folder;
  auto store = open_store(folder.file(), {}, kMiB);
  for (int number = 0; number < 60; ++number) {
    std::string reason;
    REQUIRE_MESSAGE(store->put(sample_row(number), &reason), reason);
    CHECK(store->counts().file_bytes <= kMiB);
  }
  for (int number = 50; number < 60; ++number) CHECK(has(*store, sample_row(number)));
  CHECK_FALSE(has(*store, sample_row(0)));
  CHECK(store->counts().kernels >= 15);
  store.reset();
  CHECK(file_bytes(folder.file()) <= kMiB);
}

TEST_CASE("the least recently used kernel goes first, also where another process used it") {
  const Folder folder;
  auto store = open_store(folder.file(), {}, kMiB);
  for (int number = 0; number < 15; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  {
    auto other = open_store(folder.file());
    other->touch(sample_row(0).key);
  }
  store->touch(sample_row(1).key);
  for (int number = 15; number < 25; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  CHECK(has(*store, sample_row(0)));
  CHECK(has(*store, sample_row(1)));
  CHECK_FALSE(has(*store, sample_row(2)));
}

TEST_CASE(
    "a limit lowered below what is there is reached by the next kernel, and the file shrinks") {
  const Folder folder;
  {
    auto store = open_store(folder.file());
    for (int number = 0; number < 60; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  }
  const std::int64_t before = file_bytes(folder.file());
  CHECK(before > 3'000'000);
  auto store = open_store(folder.file(), {}, kMiB);
  REQUIRE(store->put(sample_row(100), nullptr));
  CHECK(has(*store, sample_row(100)));
  store.reset();
  CHECK(file_bytes(folder.file()) <= kMiB);
}

TEST_CASE("a pinned kernel that does not fit fails, says why, and evicts nothing") {
  const Folder folder;
  auto store = open_store(folder.file(), {}, kMiB);
  for (int number = 0; number < 30; ++number) REQUIRE(store->put(sample_row(number), nullptr));
  const std::int64_t kernels = store->counts().kernels;
  KernelRow pinned = sample_row(100, 200'000);
  pinned.pinned = true;
  std::string reason;
  CHECK_FALSE(store->put(pinned, &reason));
  CHECK(contains(reason, "does not fit"));
  CHECK(contains(reason, "1048576"));
  CHECK(store->counts().kernels == kernels);
  CHECK(store->counts().errors == 0);
}

TEST_CASE("pinned kernels are never evicted, and what does not fit beside them is not stored") {
  const Folder folder;
  auto store = open_store(folder.file(), {}, kMiB);
  int pinned = 0;
  for (;; ++pinned) {
    KernelRow row = sample_row(pinned);
    row.pinned = true;
    if (!store->put(row, nullptr)) break;
  }
  CHECK(pinned >= 15);
  std::string reason;
  CHECK_FALSE(store->put(sample_row(200), &reason));
  CHECK(contains(reason, "prewarmed or imported"));
  for (int number = 0; number < pinned; ++number) CHECK(has(*store, sample_row(number)));
}

TEST_CASE("a kernel greater than the limit is not stored and evicts nothing") {
  const Folder folder;
  auto store = open_store(folder.file(), {}, kMiB);
  REQUIRE(store->put(sample_row(1), nullptr));
  std::string reason;
  CHECK_FALSE(store->put(sample_row(2, 2'000'000), &reason));
  CHECK(contains(reason, "2000000 bytes does not fit"));
  CHECK(has(*store, sample_row(1)));
}

TEST_CASE("uses are written in batches and at the end of a store") {
  const Folder folder;
  auto store = open_store(folder.file());
  for (int number = 0; number < 3; ++number) REQUIRE(store->put(sample_row(number, 100), nullptr));
  for (int round = 0; round < 1000; ++round) store->touch(sample_row(round % 3, 100).key);
  store->touch(digest_of("a key that is not there"));
  CHECK(store->counts().errors == 0);
}
