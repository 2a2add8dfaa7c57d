// Who has seen what: vector clocks of the threads of a block. A barrier joins its threads' clocks;
// an access is ordered before a thread's next step if the thread's clock knows its epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace qrow::emulator {

class Clock {
 public:
  explicit Clock(int thread) : thread_(thread) {}

  int thread() const { return thread_; }
  std::uint32_t epoch() const { return epoch_; }
  // Did everything that `thread` did up to `epoch` happen before now?
  bool knows(int thread, std::uint32_t epoch) const {
    if (thread == thread_) return true;
    return seen_ != nullptr && (*seen_)[static_cast<std::size_t>(thread)] >= epoch;
  }

  // A barrier of these threads, of `num_threads` in the block.
  static void join(std::span<Clock* const> clocks, int num_threads);

 private:
  using Seen = std::vector<std::uint32_t>;  // epoch by thread

  int thread_;
  std::uint32_t epoch_ = 1;
  std::shared_ptr<const Seen> seen_;  // shared by all threads that met at the last barrier
};

}  // namespace qrow::emulator
