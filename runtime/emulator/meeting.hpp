// Block::meet, for the files that implement operations of a warp.
#pragma once

#include <fmt/format.h>

#include "runtime/emulator/block.hpp"

namespace qrow::emulator {

// Once the last lane named in `mask` has come, it calls resolve(operands, mask) with each lane's
// operand (null for lanes outside the mask), and all go on.
template <typename Operand, typename Resolve>
void Block::meet(const char* name, unsigned mask, bool aligned, Operand& operand, Site site,
                 Resolve resolve) {
  Meeting* meeting = find_meeting(name, mask, aligned, site);
  meeting->operands[static_cast<std::size_t>(lane_index())] = &operand;
  meeting->arrived |= 1u << lane_index();
  if (meeting->arrived != mask) return wait(name, site);
  std::array<Operand*, 32> operands{};
  for (std::size_t lane = 0; lane < 32; ++lane)
    operands[lane] = static_cast<Operand*>(meeting->operands[lane]);
  leave_meeting(meeting);
  resolve(operands, mask);
}

}  // namespace qrow::emulator
