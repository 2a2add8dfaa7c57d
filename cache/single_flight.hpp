// One maker per key, inside the process and between processes that share a cache file. The others
// wait, then look again. Any thread may use it.
//
// Between processes: flock on one of a fixed set of lock files beside the cache file; it dies with
// its process. The wait is bounded by the caller: after that the caller makes the thing itself,
// which is correct, only twice the work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/hash.hpp"

namespace qrow {

class SingleFlight {
 public:
  // `lock_folder` "": inside the process only.
  explicit SingleFlight(std::string lock_folder);
  ~SingleFlight();

  class Turn;
  struct Ticket {
    std::unique_ptr<Turn> turn;
    bool waited = false;  // somebody had the turn before
    bool alone =
        true;  // false: the wait ended without the turn, or there can be no lock; work anyway

    Ticket();
    Ticket(Ticket&&) noexcept;
    Ticket& operator=(Ticket&&) noexcept;
    ~Ticket();
  };
  // Blocks until this caller may work on `key`, or `timeout_ms` passed (-1: for ever), or
  // `cancelled` (may be null) says so. The turn ends with the ticket. Look up again before working,
  // whatever `waited` says: somebody may have had a whole turn between the first look and this
  // call. REQUIRES: this thread holds no other ticket of this cache file (different keys may share
  // a lock file).
  Ticket enter(const Digest& key, int timeout_ms, const std::function<bool()>& cancelled = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace qrow
