// Counts the extra passes that the banks of shared memory need, for the accesses of one warp. Its
// lanes run one after the other here: the k-th access of each lane at one place, since the warp was
// last together, count as one access, as they would on the hardware.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace qrow::emulator {

class BankConflicts {
 public:
  // One lane's part of an access of the warp. `place` is a small number for a place in the kernel.
  void add(int lane, unsigned address, unsigned bytes, unsigned place);
  // The lanes are together: what comes now belongs to no access from before.
  void meet();
  // Passes above the least possible, of the accesses since the last finish().
  long long finish();

  // Passes that one group of lanes needs beyond the first; addresses of lanes not in `lanes` are
  // ignored.
  static int extra_passes(const std::array<unsigned, 32>& addresses, unsigned lanes,
                          unsigned bytes);

 private:
  struct Access {
    unsigned lanes = 0;
    unsigned bytes = 0;
    std::array<unsigned, 32> addresses{};
  };
  struct Place {
    std::array<std::uint32_t, 32> visits{};  // of each lane, since the last meeting
    std::vector<Access> open;                // by visit
    std::size_t num_open = 0;
  };
  void close(Access& access);

  std::vector<Place> places_;
  std::vector<unsigned> touched_;  // places with visits
  long long extra_ = 0;
};

}  // namespace qrow::emulator
