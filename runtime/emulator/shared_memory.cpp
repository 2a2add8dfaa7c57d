#include "runtime/emulator/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace qrow::emulator {
namespace {

constexpr int kNanByte = 0xff;  // NaN in every floating format of ours when repeated
constexpr std::uintptr_t kAlignment = 1024;

}  // namespace

SharedMemory::SharedMemory() : storage_(kBytes + kAlignment), cells_(kBytes / kWordBytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  bytes_ = storage_.data() + (kAlignment - address % kAlignment) % kAlignment;
  std::memset(bytes_, kNanByte, kBytes);
  sites_.assign(1, nullptr);
}

void SharedMemory::reset(unsigned dynamic_bytes, bool plain_accesses_seen, Report* report,
                         std::string block_name) {
  static_assert(kDynamicAt + kMaxDynamicBytes < kBytes, "no room for what a block may ask for");
  std::memset(bytes_, kNanByte, used_);
  std::fill_n(cells_.begin(), (used_ + kWordBytes - 1) / kWordBytes, Cell{});
  parts_.clear();
  more_readers_.clear();
  statics_.clear();
  ranges_.assign(1, {kDynamicAt, kDynamicAt + dynamic_bytes});
  used_ = kDynamicAt + dynamic_bytes;
  plain_accesses_seen_ = plain_accesses_seen;
  report_ = report;
  block_ = std::move(block_name);
}

void* SharedMemory::static_object(const void* type, unsigned bytes) {
  void*& place = statics_[type];
  if (place == nullptr) {
    const unsigned begin = (used_ + 2 * kGap - 1) / kGap * kGap;
    if (begin > kBytes || bytes > kBytes - begin) {
      report_->add(FaultKind::out_of_bounds, type, nullptr,
                   fmt::format("{}: {} bytes of static shared memory, {} of all, do not fit",
                               block_, bytes, begin + bytes - kDynamicAt));
      throw Stopped{};
    }
    used_ = begin + bytes;
    ranges_.push_back({begin, used_});
    place = bytes_ + begin;
  }
  return place;
}

std::uint16_t SharedMemory::place_of(Site site) {
  Known& known = known_[reinterpret_cast<std::uintptr_t>(site) / 4 % known_.size()];
  if (known.site == site && site != nullptr) return known.index;
  const auto [place, is_new] =
      site_indices_.try_emplace(site, static_cast<std::uint16_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  known = {site, place->second};
  return place->second;
}

SharedMemory::Access SharedMemory::access_of(const Clock& clock, Site site) {
  return {clock.epoch(), static_cast<std::uint16_t>(clock.thread()), place_of(site)};
}

void SharedMemory::split(Cell& word) {
  auto& parts = parts_.emplace_back();
  parts.fill(word);
  for (Cell& part : parts) {
    if (word.more_readers == 0) continue;
    more_readers_.push_back(std::vector(more_readers_[word.more_readers - 1]));
    part.more_readers = static_cast<std::uint32_t>(more_readers_.size());
  }
  word.parts = static_cast<std::uint16_t>(parts_.size());
}

// A word that was split stays so until the next block.
template <typename Of>
void SharedMemory::for_cells(unsigned address, unsigned bytes, Of of) {
  for (unsigned i = address; i < address + bytes;) {
    Cell& word = cells_[i / kWordBytes];
    const bool whole = i % kWordBytes == 0 && address + bytes - i >= kWordBytes;
    if (whole && word.parts == 0) {
      of(word, i);
      i += kWordBytes;
      continue;
    }
    if (word.parts == 0) split(word);
    do {
      of(parts_[word.parts - 1u][i % kWordBytes], i);
      ++i;
    } while (i % kWordBytes != 0 && i < address + bytes);
  }
}

void SharedMemory::report(FaultKind kind, unsigned address, const char* verb, const Clock& clock,
                          Site site, const char* earlier_verb, const Access& earlier) {
  const Site earlier_site = sites_[earlier.site];
  if (report_->seen(kind, site, earlier_site)) return;
  std::string text = fmt::format("{}, thread {} {} shared address {} at {}", block_, clock.thread(),
                                 verb, address, describe_site(site));
  if (earlier.epoch != 0) {
    text += fmt::format("; thread {} {} it at {}", earlier.thread, earlier_verb,
                        describe_site(earlier_site));
  }
  report_->add(kind, site, earlier_site, std::move(text));
}

void SharedMemory::check_place(unsigned address, unsigned bytes, unsigned alignment,
                               const Clock& clock, Site site, const char* verb) {
  const bool inside = std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return address >= range.begin && address <= range.end && bytes <= range.end - address;
  });
  if (!inside) {
    report(FaultKind::out_of_bounds, address, verb, clock, site, "", {});
    throw Stopped{};
  }
  if (alignment != 0 && address % alignment != 0) {
    report(FaultKind::misaligned, address, verb, clock, site, "", {});
    throw Stopped{};
  }
}

void SharedMemory::add_reader(Cell& cell, const Access& reader, const Clock& clock) {
  // A reader that this one knows of adds nothing: whoever is ordered after this one is after it
  // too.
  for (Access& known : cell.readers) {
    if (known.epoch == 0 || clock.knows(known.thread, known.epoch)) {
      known = reader;
      return;
    }
  }
  if (cell.more_readers == 0) {
    more_readers_.emplace_back();
    cell.more_readers = static_cast<std::uint32_t>(more_readers_.size());
  }
  std::vector<Access>& more = more_readers_[cell.more_readers - 1];
  for (Access& known : more) {
    if (clock.knows(known.thread, known.epoch)) {
      known = reader;
      return;
    }
  }
  more.push_back(reader);
}

const char* SharedMemory::read(unsigned address, unsigned bytes, unsigned alignment,
                               const Clock& clock, Site site) {
  check_place(address, bytes, alignment, clock, site, "reads");
  ++report_->shared_accesses;
  const Access reader = access_of(clock, site);
  for_cells(address, bytes, [&](Cell& cell, unsigned at) {
    if (cell.in_flight) {
      report(FaultKind::in_flight, at, "reads", clock, site, "copies asynchronously to",
             cell.writer);
    } else if (cell.writer.epoch == 0) {
      if (plain_accesses_seen_) report(FaultKind::uninitialised, at, "reads", clock, site, "", {});
    } else if (!clock.knows(cell.writer.thread, cell.writer.epoch)) {
      report(FaultKind::race, at, "reads", clock, site, "wrote", cell.writer);
    }
    add_reader(cell, reader, clock);
  });
  return bytes_ + address;
}

void SharedMemory::check_write(const Cell& cell, unsigned address, const Clock& clock, Site site) {
  const auto unordered = [&](const Access& earlier) {
    return earlier.epoch != 0 && !clock.knows(earlier.thread, earlier.epoch);
  };
  if (cell.in_flight) {
    report(FaultKind::in_flight, address, "writes", clock, site, "copies asynchronously to",
           cell.writer);
  } else if (unordered(cell.writer)) {
    report(FaultKind::race, address, "writes", clock, site, "wrote", cell.writer);
  }
  for (const Access& reader : cell.readers)
    if (unordered(reader)) report(FaultKind::race, address, "writes", clock, site, "read", reader);
  if (cell.more_readers == 0) return;
  for (const Access& reader : more_readers_[cell.more_readers - 1])
    if (unordered(reader)) report(FaultKind::race, address, "writes", clock, site, "read", reader);
}

void SharedMemory::record_write(Cell& cell, const Access& writer) {
  cell.writer = writer;
  cell.readers[0] = cell.readers[1] = {};
  if (cell.more_readers != 0) more_readers_[cell.more_readers - 1].clear();
}

char* SharedMemory::write(unsigned address, unsigned bytes, unsigned alignment, const Clock& clock,
                          Site site) {
  check_place(address, bytes, alignment, clock, site, "writes");
  ++report_->shared_accesses;
  const Access writer = access_of(clock, site);
  for_cells(address, bytes, [&](Cell& cell, unsigned at) {
    check_write(cell, at, clock, site);
    record_write(cell, writer);
  });
  return bytes_ + address;
}

void SharedMemory::begin_copy(unsigned address, unsigned bytes, const Clock& clock, Site site) {
  char* target = write(address, bytes, bytes, clock, site);
  std::memset(target, kNanByte, bytes);
  for_cells(address, bytes, [](Cell& cell, unsigned) { cell.in_flight = 1; });
}

void SharedMemory::fill(unsigned address, const void* data, unsigned bytes) {
  std::memcpy(bytes_ + address, data, bytes);
}

void SharedMemory::land_copy(unsigned address, const void* data, unsigned bytes, const Clock& clock,
                             Site site) {
  const Access writer = access_of(clock, site);
  for_cells(address, bytes, [&](Cell& cell, unsigned) {
    cell.in_flight = 0;
    record_write(cell, writer);
  });
  fill(address, data, bytes);
}

}  // namespace qrow::emulator
