#include <doctest/doctest.h>

#include "cache/export.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

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
