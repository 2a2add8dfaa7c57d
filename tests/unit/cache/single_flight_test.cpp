#include "cache/single_flight.hpp"

#include <doctest/doctest.h>
#include <sys/file.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "cache/kernel_store.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

using Clock = std::chrono::steady_clock;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Two keys with one lock file between them.
Digest key_in_slot(std::uint64_t slot, std::uint64_t number) { return {number, slot}; }

}  // namespace

TEST_CASE("threads of one process work on a key one after the other") {
  SingleFlight flight("");
  const Digest key = digest_of("key");
  std::atomic<int> inside{0}, made{0}, most{0}, waited{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto ticket = flight.enter(key, -1);
      most = std::max(most.load(), ++inside);
      if (ticket.waited) ++waited;
      if (ticket.turn && ticket.alone) ++made;
      sleep_ms(5);
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(made == 8);
  CHECK(waited == 7);
}

TEST_CASE("threads work on different keys at the same time") {
  SingleFlight flight("");
  const auto first = flight.enter(digest_of("a"), -1);
  const auto second = flight.enter(digest_of("b"), 0);
  CHECK(first.alone);
  CHECK(second.alone);
  CHECK_FALSE(second.waited);
}

TEST_CASE("a wait ends after its time, and the caller works without the turn") {
  SingleFlight flight("");
  const Digest key = digest_of("key");
  const auto holder = flight.enter(key, -1);
  const auto start = Clock::now();
  const auto ticket = flight.enter(key, 100);
  CHECK_FALSE(ticket.alone);
  CHECK(ticket.waited);
  CHECK(ticket.turn == nullptr);
  CHECK(seconds_since(start) >= 0.1);
  CHECK(seconds_since(start) < 1);
}

TEST_CASE("a wait ends when the caller is cancelled") {
  const Folder folder;
  for (const std::string& locks : {std::string(), folder.path()}) {
    SingleFlight here(locks), elsewhere(locks);
    const Digest key = digest_of("key");
    const auto holder = here.enter(key, -1);
    std::atomic<bool> cancel{false};
    std::thread canceller([&] {
      sleep_ms(60);
      cancel = true;
    });
    const auto start = Clock::now();
    SingleFlight& waiter = locks.empty() ? here : elsewhere;
    const auto ticket = waiter.enter(key, -1, [&] { return cancel.load(); });
    CHECK_FALSE(ticket.alone);
    CHECK(seconds_since(start) < 1);
    canceller.join();
  }
}

TEST_CASE("two keys of one lock file wait for each other and never lock up") {
  const Folder folder;
  SingleFlight flight(folder.path());
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (std::uint64_t number = 0; number < 6; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t round = 0; round < 5; ++round) {
        const auto ticket = flight.enter(key_in_slot(3, number % 3), -1);
        if (ticket.alone) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 30);
}

TEST_CASE("a folder where no lock can be had lets the caller work at once") {
  SingleFlight flight("/proc/qrow-no-such-folder");
  const auto start = Clock::now();
  const auto ticket = flight.enter(digest_of("key"), -1);
  CHECK_FALSE(ticket.alone);
  CHECK(ticket.turn != nullptr);
  CHECK(seconds_since(start) < 1);
}

TEST_CASE(
    "sixteen processes with a cold cache and one key make it once, and all get the same bytes") {
  const Folder folder;
  const KernelRow made = sample_row(1);
  std::vector<pid_t> children;
  for (int child = 0; child < 16; ++child) {
    children.push_back(start_child([&] {
      auto store = open_store(folder.file());
      SingleFlight flight(store->lock_folder());
      if (!has(*store, made)) {
        const auto ticket = flight.enter(made.key, 30'000);
        if (!ticket.alone) return 1;
        if (!has(*store, made)) {
          std::ofstream(folder.file("makers"), std::ios::app) << 'm' << std::flush;
          sleep_ms(150);
          if (!store->put(made, nullptr)) return 2;
        }
      }
      return has(*store, made) ? 0 : 3;
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(bytes_of(folder.file("makers")) == "m");
}

TEST_CASE("a waiter goes on within a second after the holder is killed") {
  const Folder folder;
  const Digest key = digest_of("key");
  const pid_t holder = start_child([&] {
    SingleFlight flight(folder.path());
    const auto ticket = flight.enter(key, -1);
    write_bytes(folder.file("held"), "yes");
    sleep_ms(60'000);
    return 0;
  });
  while (!std::filesystem::exists(folder.file("held"))) sleep_ms(5);
  SingleFlight flight(folder.path());
  CHECK_FALSE(flight.enter(key, 50).alone);
  ::kill(holder, SIGKILL);
  const auto start = Clock::now();
  const auto ticket = flight.enter(key, 10'000);
  CHECK(ticket.alone);
  CHECK(seconds_since(start) < 1);
  CHECK(wait_for(holder) == 1000 + SIGKILL);
}

TEST_CASE("a child does not inherit turns, and does not keep its parent's locks") {
  const Folder folder;
  SingleFlight flight(folder.path());
  const Digest key = digest_of("key");
  pid_t child = 0;
  {
    const auto ticket = flight.enter(key, -1);
    REQUIRE(ticket.alone);
    child = start_child([&] {
      // The parent has the file lock now and soon not any more.
      const auto mine = flight.enter(key, 5000);
      return mine.alone ? 0 : 1;
    });
    sleep_ms(100);
    CHECK(::waitpid(child, nullptr, WNOHANG) == 0);
  }
  CHECK(wait_for(child) == 0);

  int stop[2];
  REQUIRE(::pipe(stop) == 0);
  {
    const auto ticket = flight.enter(key, -1);
    child = start_child([&] {
      char byte = 0;
      ::close(stop[1]);
      return ::read(stop[0], &byte, 1) == 0 ? 0 : 1;  // lives until the parent says so
    });
  }
  SingleFlight another(folder.path());
  CHECK(another.enter(key, 1000).alone);
  ::close(stop[1]);
  CHECK(wait_for(child) == 0);
  ::close(stop[0]);
}
