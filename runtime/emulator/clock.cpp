#include "runtime/emulator/clock.hpp"

#include <algorithm>

namespace qrow::emulator {

void Clock::join(std::span<Clock* const> clocks, int num_threads) {
  auto all = std::make_shared<Seen>(static_cast<std::size_t>(num_threads), 0);
  const Seen* last = nullptr;  // threads of a warp usually share theirs
  for (const Clock* clock : clocks) {
    const Seen* seen = clock->seen_.get();
    if (seen != nullptr && seen != last) {
      std::transform(all->begin(), all->end(), seen->begin(), all->begin(),
                     [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
    }
    last = seen;
  }
  for (Clock* clock : clocks) {
    std::uint32_t& own = (*all)[static_cast<std::size_t>(clock->thread_)];
    own = std::max(own, clock->epoch_);
  }
  const std::shared_ptr<const Seen> shared = std::move(all);
  for (Clock* clock : clocks) {
    clock->seen_ = shared;
    ++clock->epoch_;
  }
}

}  // namespace qrow::emulator
