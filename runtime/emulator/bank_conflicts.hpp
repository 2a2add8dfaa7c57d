// Counts the extra passes that the banks of shared memory need. The lanes of a warp that come to
// the same place in the same turn count as one access, as they would on the hardware.
#pragma once

#include <array>
#include <map>

#include "runtime/emulator/device/machine.hpp"

namespace qrow::emulator {

class BankConflicts {
 public:
  // One lane's part of an access of its warp.
  void add(int lane, unsigned address, unsigned bytes, Site site);
  // Passes above the least possible, of all accesses so far. Ends the open ones.
  long long finish();

  // Passes that one group of lanes needs beyond the first; addresses of lanes not in `lanes` are
  // ignored.
  static int extra_passes(const std::array<unsigned, 32>& addresses, unsigned lanes,
                          unsigned bytes);

 private:
  struct Open {
    unsigned lanes = 0;
    unsigned bytes = 0;
    std::array<unsigned, 32> addresses{};
  };
  void close(Open& open);

  std::map<Site, Open> open_;
  long long extra_ = 0;
};

}  // namespace qrow::emulator
