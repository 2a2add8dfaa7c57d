// What the lanes of a warp do together: meetings, shuffles, votes.
#include <bit>

#include "runtime/emulator/meeting.hpp"

namespace qrow::emulator {

Block::Meeting* Block::find_meeting(const char* name, unsigned mask, bool aligned, Site site) {
  if ((mask >> lane_index() & 1) == 0) {
    stop(FaultKind::wrong_mask, site, nullptr,
         fmt::format(" executes {} at {} with mask {:#x}, which does not name its lane {}", name,
                     describe_site(site), mask, lane_index()));
  }
  if ((mask & ~warp().alive) != 0) {
    stop(FaultKind::missing_lane, site, nullptr,
         fmt::format(" executes {} at {} with mask {:#x}, but lane {} has ended", name,
                     describe_site(site), mask, std::countr_zero(mask & ~warp().alive)));
  }
  for (Meeting& meeting : warp().meetings) {
    if ((meeting.mask & mask) == 0) continue;
    if (meeting.mask != mask) {
      stop(
          FaultKind::wrong_mask, site, meeting.site,
          fmt::format(" executes {} at {} with mask {:#x}, while lanes of it wait in {} at {} with "
                      "mask {:#x}",
                      name, describe_site(site), mask, meeting.name, describe_site(meeting.site),
                      meeting.mask));
    }
    if (meeting.name != name || (aligned && !same_place(meeting.site, site))) {
      stop(FaultKind::divergent, site, meeting.site,
           fmt::format(" executes {} at {}, while other lanes of its warp wait in {} at {}", name,
                       describe_site(site), meeting.name, describe_site(meeting.site)));
    }
    return &meeting;
  }
  Meeting& meeting = warp().meetings.emplace_back();
  meeting.name = name;
  meeting.mask = mask;
  meeting.site = site;
  return &meeting;
}

void Block::leave_meeting(Meeting* meeting) {
  warp().ready |= meeting->mask;
  if (meeting->mask == ~0u) warp().conflicts.meet();
  std::erase_if(warp().meetings, [&](const Meeting& other) { return &other == meeting; });
}

void Block::warp_barrier(unsigned mask, Site site) {
  Clock* clock = &self().clock;
  meet("__syncwarp", mask, false, *clock, site, [this](const auto& clocks, unsigned) {
    std::vector<Clock*> present;
    for (Clock* one : clocks)
      if (one != nullptr) present.push_back(one);
    Clock::join(present, static_cast<int>(launch_.threads));
  });
}

namespace {

struct Exchange {
  unsigned long long value;
  Shuffle mode;
  int operand;
  unsigned long long result;
};

// Of the lane that gives `lane` its value; the lane's own where there is none.
int shuffle_source(int lane, Shuffle mode, int operand) {
  int source = lane;
  switch (mode) {
    case Shuffle::index:
      return operand & 31;
    case Shuffle::up:
      source = lane - operand;
      break;
    case Shuffle::down:
      source = lane + operand;
      break;
    case Shuffle::exclusive_or:
      source = lane ^ operand;
      break;
  }
  return source >= 0 && source < 32 ? source : lane;
}

struct Ballot {
  bool predicate;
  unsigned result;
};

}  // namespace

unsigned long long Block::shuffle(Shuffle mode, unsigned mask, unsigned long long value,
                                  int operand, Site site) {
  static constexpr const char* kNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                           "__shfl_xor_sync"};
  Exchange mine{value, mode, operand, 0};
  bool absent = false;
  meet(kNames[static_cast<int>(mode)], mask, false, mine, site,
       [&absent](const auto& lanes, unsigned) {
         for (std::size_t lane = 0; lane < 32; ++lane) {
           if (lanes[lane] == nullptr) continue;
           const int source =
               shuffle_source(static_cast<int>(lane), lanes[lane]->mode, lanes[lane]->operand);
           const Exchange* from = lanes[static_cast<std::size_t>(source)];
           absent |= from == nullptr;
           lanes[lane]->result = from != nullptr ? from->value : ~0ull;
         }
       });
  if (absent) {
    stop(FaultKind::wrong_mask, site, nullptr,
         fmt::format(" executes {} at {} with mask {:#x}: a lane reads from one that it does not "
                     "name",
                     kNames[static_cast<int>(mode)], describe_site(site), mask));
  }
  return mine.result;
}

namespace {

struct Term {
  unsigned value;
  unsigned result;
};

unsigned combined(Reduction what, unsigned a, unsigned b, bool is_signed) {
  const bool less = is_signed ? static_cast<int>(a) < static_cast<int>(b) : a < b;
  switch (what) {
    case Reduction::add:
      return a + b;
    case Reduction::smallest:
      return less ? a : b;
    case Reduction::largest:
      return less ? b : a;
    case Reduction::bits_and:
      return a & b;
    case Reduction::bits_or:
      return a | b;
    case Reduction::bits_xor:
      return a ^ b;
  }
  return 0;
}

}  // namespace

unsigned Block::reduce(Reduction what, unsigned mask, unsigned value, bool is_signed, Site site) {
  static constexpr const char* kNames[] = {"__reduce_add_sync", "__reduce_min_sync",
                                           "__reduce_max_sync", "__reduce_and_sync",
                                           "__reduce_or_sync",  "__reduce_xor_sync"};
  Term mine{value, 0};
  meet(kNames[static_cast<int>(what)], mask, false, mine, site,
       [what, is_signed](const auto& lanes, unsigned) {
         const Term* first = nullptr;
         unsigned result = 0;
         for (const Term* lane : lanes) {
           if (lane == nullptr) continue;
           result = first == nullptr ? lane->value : combined(what, result, lane->value, is_signed);
           first = lane;
         }
         for (Term* lane : lanes)
           if (lane != nullptr) lane->result = result;
       });
  return mine.result;
}

unsigned Block::vote(Vote mode, unsigned mask, bool predicate, Site site) {
  static constexpr const char* kNames[] = {"__any_sync", "__all_sync", "__ballot_sync"};
  Ballot mine{predicate, 0};
  meet(kNames[static_cast<int>(mode)], mask, false, mine, site, [](const auto& lanes, unsigned) {
    unsigned ballot = 0;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if (lanes[lane] != nullptr && lanes[lane]->predicate) ballot |= 1u << lane;
    for (Ballot* lane : lanes)
      if (lane != nullptr) lane->result = ballot;
  });
  if (mode == Vote::any) return mine.result != 0;
  if (mode == Vote::all) return mine.result == mask;
  return mine.result;
}

}  // namespace qrow::emulator
