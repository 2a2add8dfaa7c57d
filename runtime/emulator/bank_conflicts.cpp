#include "runtime/emulator/bank_conflicts.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace qrow::emulator {
namespace {
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;
}  // namespace

void BankConflicts::add(int lane, unsigned address, unsigned bytes, unsigned place_index) {
  if (place_index >= places_.size()) places_.resize(place_index + 1);
  Place& place = places_[place_index];
  if (place.num_open == 0) touched_.push_back(place_index);
  const std::size_t visit = place.visits[static_cast<std::size_t>(lane)]++;
  if (visit >= place.num_open) {
    if (visit >= place.open.size()) place.open.resize(2 * visit + 1);
    place.num_open = visit + 1;
    place.open[visit].lanes = 0;
  }
  Access& access = place.open[visit];
  if (access.lanes != 0 && access.bytes != bytes) close(access);
  access.lanes |= 1u << lane;
  access.bytes = bytes;
  access.addresses[static_cast<std::size_t>(lane)] = address;
}

void BankConflicts::close(Access& access) {
  if (access.lanes != 0) extra_ += extra_passes(access.addresses, access.lanes, access.bytes);
  access.lanes = 0;
}

void BankConflicts::meet() {
  for (const unsigned index : touched_) {
    Place& place = places_[index];
    for (std::size_t i = 0; i < place.num_open; ++i) close(place.open[i]);
    place.num_open = 0;
    place.visits.fill(0);
  }
  touched_.clear();
}

long long BankConflicts::finish() {
  meet();
  return std::exchange(extra_, 0);
}

// A pass moves 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16. Different words of one bank need
// one pass each, the same word none.
int BankConflicts::extra_passes(const std::array<unsigned, 32>& addresses, unsigned lanes,
                                unsigned bytes) {
  const unsigned lanes_per_pass =
      kBanks * kBankBytes / std::clamp(std::bit_ceil(bytes), kBankBytes, 16u);
  int extra = 0;
  for (unsigned first = 0; first < 32; first += lanes_per_pass) {
    // Words of a bank that came so far: no more than there are lanes, unless a lane takes more than
    // 16 bytes, which no instruction does.
    std::array<std::array<unsigned, 32>, kBanks> words;
    std::array<unsigned, kBanks> counts{};
    unsigned most = 1;
    for (unsigned lane = first; lane < first + lanes_per_pass; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const unsigned begin = addresses[lane] / kBankBytes;
      const unsigned end = (addresses[lane] + std::min(bytes, 16u) + kBankBytes - 1) / kBankBytes;
      for (unsigned word = begin; word < end; ++word) {
        auto& of_bank = words[word % kBanks];
        unsigned& count = counts[word % kBanks];
        if (std::find(of_bank.begin(), of_bank.begin() + count, word) != of_bank.begin() + count)
          continue;
        of_bank[count++] = word;
        most = std::max(most, count);
      }
    }
    extra += static_cast<int>(most) - 1;
  }
  return extra;
}

}  // namespace qrow::emulator
