#include "cache/single_flight.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cache/fork_guard.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

using Clock = std::chrono::steady_clock;

// Two keys of one lock file only wait for each other.
constexpr unsigned kLockFiles = 64;

// flock can neither wait for a time nor be interrupted, so it is asked again and again: a pause
// that is short beside a compilation and long beside a system call.
constexpr auto kPoll = std::chrono::milliseconds(20);

// The end of a wait: by time or by the caller's wish.
class Patience {
 public:
  Patience(int timeout_ms, const std::function<bool()>& cancelled)
      : for_ever_(timeout_ms < 0),
        end_(Clock::now() + std::chrono::milliseconds(timeout_ms)),
        cancelled_(cancelled) {}
  bool over() const { return (cancelled_ && cancelled_()) || (!for_ever_ && Clock::now() >= end_); }

 private:
  bool for_ever_;
  Clock::time_point end_;
  const std::function<bool()>& cancelled_;
};

}  // namespace

struct SingleFlight::State final : ForkGuarded {
  explicit State(std::string folder) : lock_folder(std::move(folder)) {}

  // A child has none of the threads that hold turns. Forgetting them closes its copies of the lock
  // files, which would otherwise stay locked for as long as the child lives.
  bool before_fork() noexcept override {
    mutex.lock();
    return true;
  }
  void after_fork_in_parent() noexcept override { mutex.unlock(); }
  void after_fork_in_child() noexcept override {
    busy.clear();
    mutex.unlock();
  }

  bool take_key(const Digest& key, const Patience& patience, bool* waited);
  bool take_file(const Digest& key, const Patience& patience, bool* waited);
  void release(const Digest& key);

  const std::string lock_folder;
  std::mutex mutex;  // held for moments only
  std::condition_variable changed;
  std::map<Digest, FileLock>
      busy;  // keys being worked on in this process, with the lock file if there is one
  ForkGuard guard{*this};  // last: ends first
};

// Inside the process. False if patience ended first.
bool SingleFlight::State::take_key(const Digest& key, const Patience& patience, bool* waited) {
  std::unique_lock lock(mutex);
  while (!busy.try_emplace(key).second) {
    *waited = true;
    changed.wait_for(lock, kPoll);
    lock.unlock();  // the caller's function may be anything
    if (patience.over()) return false;
    lock.lock();
  }
  return true;
}

// Between processes. False if patience ended first, or there can be no lock. REQUIRES: the key is
// taken.
bool SingleFlight::State::take_file(const Digest& key, const Patience& patience, bool* waited) {
  if (lock_folder.empty()) return true;
  const std::string file = fmt::format("{}/{:02x}", lock_folder, key.low % kLockFiles);
  for (;;) {
    bool held_elsewhere = false;
    {
      std::lock_guard lock(mutex);  // so that a fork meets every descriptor in `busy`
      FileLock taken = FileLock::acquire(file, 0, nullptr, &held_elsewhere);
      if (taken) {
        busy[key] = std::move(taken);
        return true;
      }
    }
    if (!held_elsewhere) return false;
    *waited = true;
    if (patience.over()) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

void SingleFlight::State::release(const Digest& key) {
  {
    std::lock_guard lock(mutex);
    busy.erase(key);
  }
  changed.notify_all();
}

class SingleFlight::Turn {
 public:
  Turn(std::shared_ptr<State> state, const Digest& key) : state_(std::move(state)), key_(key) {}
  ~Turn() { state_->release(key_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::shared_ptr<State> state_;
  Digest key_;
};

// Here, where Turn is complete.
SingleFlight::Ticket::Ticket() = default;
SingleFlight::Ticket::Ticket(Ticket&&) noexcept = default;
SingleFlight::Ticket& SingleFlight::Ticket::operator=(Ticket&&) noexcept = default;
SingleFlight::Ticket::~Ticket() = default;

SingleFlight::SingleFlight(std::string lock_folder)
    : state_(std::make_shared<State>(std::move(lock_folder))) {}
SingleFlight::~SingleFlight() = default;

SingleFlight::Ticket SingleFlight::enter(const Digest& key, int timeout_ms,
                                         const std::function<bool()>& cancelled) {
  const Patience patience(timeout_ms, cancelled);
  Ticket ticket;
  ticket.alone = state_->take_key(key, patience, &ticket.waited);
  if (!ticket.alone) return ticket;
  ticket.turn = std::make_unique<Turn>(state_, key);
  ticket.alone = state_->take_file(key, patience, &ticket.waited);
  return ticket;
}

}  // namespace qrow
