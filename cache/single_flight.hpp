// One maker per key, inside the process and between processes that share a cache file. The others wait, then look again.
//
// Between processes: flock on one of a fixed set of lock files beside the cache file; it dies with its process. The wait
// is bounded by the caller: after that the caller makes the thing itself, which is correct, only twice the work.
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
  // Blocks until this caller may work on `key`, or `timeout_ms` passed (-1: for ever), or `cancelled` (may be null) says so.
  // The turn ends when the returned object is destroyed. `waited` tells whether somebody else had the turn before: then
  // look up again before working.
  struct Ticket {
    std::unique_ptr<Turn> turn;
    bool waited = false;
    bool alone = true;  // false: the wait ended without the lock; work anyway
  };
  Ticket enter(const Digest& key, int timeout_ms, const std::function<bool()>& cancelled = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace qrow
