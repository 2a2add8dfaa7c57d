// A cache file between processes: forks, crowds at a fresh file, killed writers.
#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "cache/kernel_store.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

TEST_CASE("a forked child has a connection of its own, and the parent's cache is intact after it") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  CHECK(in_child([&] {
          if (!has(*store, sample_row(1))) return 1;
          if (!store->put(sample_row(2), nullptr)) return 2;
          store.reset();
          return 0;
        }) == 0);
  CHECK(has(*store, sample_row(1)));
  CHECK(has(*store, sample_row(2)));
  CHECK(store->put(sample_row(3), nullptr));
  CHECK(store->counts().errors == 0);
}

TEST_CASE("a child that outlives its parent keeps what it and others store") {
  const Folder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t parent = start_child([&] {
    auto store = open_store(folder.file());
    if (!store->put(sample_row(1), nullptr)) return 1;
    const pid_t child = start_child([&] {
      if (!has(*store, sample_row(1))) return 1;
      char go = 0;
      if (::read(ready[0], &go, 1) != 1)
        return 2;  // by now the parent is gone and another process has come and gone
      for (int number = 10; number < 20; ++number) {
        if (!store->put(sample_row(number), nullptr)) return 3;
      }
      store.reset();
      write_bytes(folder.file("child_is_done"), "yes");
      return 0;
    });
    return child > 0 ? 0 : 4;
  });
  REQUIRE(wait_for(parent) == 0);
  REQUIRE(open_store(folder.file())->put(sample_row(2), nullptr));
  auto witness = open_store(folder.file());
  REQUIRE(::write(ready[1], "g", 1) == 1);
  for (int i = 0; i < 500 && !std::filesystem::exists(folder.file("child_is_done")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  REQUIRE(std::filesystem::exists(folder.file("child_is_done")));
  for (int number = 10; number < 20; ++number) CHECK(has(*witness, sample_row(number)));
  CHECK(has(*witness, sample_row(2)));
  CHECK(witness->counts().errors == 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("forks in the middle of other threads' work leave parent and children working") {
  const Folder folder;
  auto store = open_store(folder.file());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::thread writer([&] {
    for (int number = 0; !stop; ++number) {
      if (!store->put(sample_row(number % 50, 2000), nullptr)) ++failures;
      if (!has(*store, sample_row(number % 50, 2000))) ++failures;
    }
  });
  for (int round = 0; round < 15; ++round) {
    CHECK(in_child([&] {
            const KernelRow row = sample_row(1000 + round, 2000);
            return store->put(row, nullptr) && has(*store, row) ? 0 : 1;
          }) == 0);
  }
  stop = true;
  writer.join();
  CHECK(failures == 0);
  for (int round = 0; round < 15; ++round) CHECK(has(*store, sample_row(1000 + round, 2000)));
}

TEST_CASE("twelve processes that open a fresh cache at once all get a working one") {
  for (int round = 0; round < 8; ++round) {
    const Folder folder;
    std::vector<pid_t> children;
    for (int child = 0; child < 12; ++child) {
      children.push_back(start_child([&] {
        Recorder recorder;
        auto store = open_store(folder.path() + "/new/", recorder.log());
        const KernelRow row = sample_row(child, 20'000);
        if (!store->available()) return 1;
        if (!store->put(row, nullptr)) return 2;
        if (!has(*store, row)) return 3;
        return recorder.warnings().empty() ? 0 : 4;
      }));
    }
    for (const pid_t child : children) CHECK(wait_for(child) == 0);
    auto store = open_store(folder.path() + "/new/");
    CHECK(store->counts().kernels == 12);
    for (int child = 0; child < 12; ++child) CHECK(has(*store, sample_row(child, 20'000)));
  }
}

TEST_CASE("processes that meet a damaged file at once set it aside once") {
  const Folder folder;
  write_bytes(folder.file(), std::string(50'000, 'g'));
  std::vector<pid_t> children;
  for (int child = 0; child < 12; ++child) {
    children.push_back(start_child([&] {
      auto store = open_store(folder.file());
      const KernelRow row = sample_row(child, 20'000);
      return store->put(row, nullptr) && has(*store, row) ? 0 : 1;
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(open_store(folder.file())->counts().kernels == 12);
  CHECK(std::filesystem::exists(folder.file() + ".damaged-1"));
  CHECK_FALSE(std::filesystem::exists(folder.file() + ".damaged-2"));
}

TEST_CASE("writers that are killed leave a sound file with sound rows") {
  const Folder folder;
  for (int round = 0; round < 12; ++round) {
    const pid_t writer = start_child([&] {
      auto store = open_store(folder.file());
      for (int number = 0;; ++number) store->put(sample_row(number % 30), nullptr);
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 5 * round));
    ::kill(writer, SIGKILL);
    CHECK(wait_for(writer) == 1000 + SIGKILL);
    Recorder recorder;
    auto store = open_store(folder.file(), recorder.log());
    for (int number = 0; number < 30; ++number) {
      for (const KernelRow& row :
           store->find(sample_row(number).key, sample_row(number).key_text)) {
        CHECK(row.cubin == sample_row(number).cubin);
      }
    }
    CHECK(store->counts().corrupt == 0);
    CHECK(store->counts().errors == 0);
    CHECK(recorder.warnings().empty());
  }
}

TEST_CASE("readers during writes never see a broken row") {
  const Folder folder;
  REQUIRE(open_store(folder.file())->available());
  const pid_t writer = start_child([&] {
    auto store = open_store(folder.file());
    for (int number = 0; number < 400; ++number) {
      KernelRow row = sample_row(number % 10, 30'000);
      row.registers = number;
      if (!store->put(row, nullptr)) return 1;
    }
    return 0;
  });
  auto store = open_store(folder.file());
  for (int i = 0; i < 2000; ++i) {
    const KernelRow row = sample_row(i % 10, 30'000);
    for (const KernelRow& found : store->find(row.key, row.key_text)) {
      if (found.cubin != row.cubin) FAIL("other bytes");
    }
  }
  CHECK(wait_for(writer) == 0);
  CHECK(store->counts().corrupt == 0);
  CHECK(store->counts().errors == 0);
}
