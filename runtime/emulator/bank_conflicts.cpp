#include "runtime/emulator/bank_conflicts.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace qrow::emulator {
namespace {
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;
}  // namespace

void BankConflicts::add(int lane, unsigned address, unsigned bytes, Site site) {
  Open& open = open_[site];
  const unsigned bit = 1u << lane;
  if ((open.lanes & bit) != 0 || (open.lanes != 0 && open.bytes != bytes)) close(open);
  open.lanes |= bit;
  open.bytes = bytes;
  open.addresses[static_cast<std::size_t>(lane)] = address;
}

void BankConflicts::close(Open& open) {
  extra_ += extra_passes(open.addresses, open.lanes, open.bytes);
  open.lanes = 0;
}

long long BankConflicts::finish() {
  for (auto& [site, open] : open_) close(open);
  return extra_;
}

// A pass moves 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
int BankConflicts::extra_passes(const std::array<unsigned, 32>& addresses, unsigned lanes,
                                unsigned bytes) {
  const unsigned lanes_per_pass =
      kBanks * kBankBytes / std::clamp(std::bit_ceil(bytes), kBankBytes, 16u);
  int extra = 0;
  for (unsigned first = 0; first < 32; first += lanes_per_pass) {
    std::array<std::set<unsigned>, kBanks> words;  // different words of one bank: one pass each
    for (unsigned lane = first; lane < first + lanes_per_pass; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const unsigned begin = addresses[lane] / kBankBytes;
      const unsigned end = (addresses[lane] + bytes + kBankBytes - 1) / kBankBytes;
      for (unsigned word = begin; word < end; ++word) words[word % kBanks].insert(word);
    }
    std::size_t most = 1;
    for (const auto& bank : words) most = std::max(most, bank.size());
    extra += static_cast<int>(most) - 1;
  }
  return extra;
}

}  // namespace qrow::emulator
