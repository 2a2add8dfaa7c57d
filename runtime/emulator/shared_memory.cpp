#include "runtime/emulator/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace qrow::emulator {
namespace {

constexpr int kNanByte = 0xff;  // NaN in every floating format of ours when repeated
constexpr std::uintptr_t kAlignment = 1024;

}  // namespace

SharedMemory::SharedMemory() : storage_(kBytes + kAlignment), cells_(kBytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  bytes_ = storage_.data() + (kAlignment - address % kAlignment) % kAlignment;
  used_ = kBytes;
}

void SharedMemory::reset(unsigned dynamic_bytes, Report* report, std::string block_name) {
  std::memset(bytes_, kNanByte, used_);
  std::fill(cells_.begin(), cells_.begin() + used_, Cell{});
  more_readers_.clear();
  sites_.assign(1, nullptr);
  site_indices_.clear();
  statics_.clear();
  ranges_.assign(1, {kDynamicAt, kDynamicAt + dynamic_bytes});
  used_ = kDynamicAt + dynamic_bytes;
  report_ = report;
  block_ = std::move(block_name);
}

void* SharedMemory::static_object(const void* type, unsigned bytes) {
  void*& place = statics_[type];
  if (place == nullptr) {
    const unsigned begin = (used_ + 2 * kGap - 1) / kGap * kGap;
    used_ = begin + bytes;
    ranges_.push_back({begin, used_});
    place = bytes_ + begin;
  }
  return place;
}

std::uint16_t SharedMemory::site_index(Site site) {
  const auto [place, is_new] =
      site_indices_.try_emplace(site, static_cast<std::uint16_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return place->second;
}

SharedMemory::Access SharedMemory::access_of(const Clock& clock, Site site) {
  return {clock.epoch(), static_cast<std::uint16_t>(clock.thread()), site_index(site)};
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
  for (unsigned i = address; i < address + bytes; ++i) {
    Cell& cell = cells_[i];
    if (cell.in_flight) {
      report(FaultKind::in_flight, i, "reads", clock, site, "copies asynchronously to",
             cell.writer);
    } else if (cell.writer.epoch == 0) {
      report(FaultKind::uninitialised, i, "reads", clock, site, "", {});
    } else if (!clock.knows(cell.writer.thread, cell.writer.epoch)) {
      report(FaultKind::race, i, "reads", clock, site, "wrote", cell.writer);
    }
    add_reader(cell, reader, clock);
  }
  return bytes_ + address;
}

void SharedMemory::check_write(unsigned address, unsigned bytes, const Clock& clock, Site site) {
  const auto unordered = [&](const Access& earlier) {
    return earlier.epoch != 0 && !clock.knows(earlier.thread, earlier.epoch);
  };
  for (unsigned i = address; i < address + bytes; ++i) {
    const Cell& cell = cells_[i];
    if (cell.in_flight) {
      report(FaultKind::in_flight, i, "writes", clock, site, "copies asynchronously to",
             cell.writer);
    } else if (unordered(cell.writer)) {
      report(FaultKind::race, i, "writes", clock, site, "wrote", cell.writer);
    }
    for (const Access& reader : cell.readers)
      if (unordered(reader)) report(FaultKind::race, i, "writes", clock, site, "read", reader);
    if (cell.more_readers == 0) continue;
    for (const Access& reader : more_readers_[cell.more_readers - 1])
      if (unordered(reader)) report(FaultKind::race, i, "writes", clock, site, "read", reader);
  }
}

void SharedMemory::record_write(unsigned address, unsigned bytes, const Clock& clock, Site site) {
  const Access writer = access_of(clock, site);
  for (unsigned i = address; i < address + bytes; ++i) {
    Cell& cell = cells_[i];
    cell.writer = writer;
    cell.readers[0] = cell.readers[1] = {};
    if (cell.more_readers != 0) more_readers_[cell.more_readers - 1].clear();
  }
}

char* SharedMemory::write(unsigned address, unsigned bytes, unsigned alignment, const Clock& clock,
                          Site site) {
  check_place(address, bytes, alignment, clock, site, "writes");
  ++report_->shared_accesses;
  check_write(address, bytes, clock, site);
  record_write(address, bytes, clock, site);
  return bytes_ + address;
}

void SharedMemory::begin_copy(unsigned address, unsigned bytes, const Clock& clock, Site site) {
  char* target = write(address, bytes, bytes, clock, site);
  std::memset(target, kNanByte, bytes);
  for (unsigned i = address; i < address + bytes; ++i) cells_[i].in_flight = true;
}

void SharedMemory::fill(unsigned address, const void* data, unsigned bytes) {
  std::memcpy(bytes_ + address, data, bytes);
}

void SharedMemory::land_copy(unsigned address, const void* data, unsigned bytes, const Clock& clock,
                             Site site) {
  for (unsigned i = address; i < address + bytes; ++i) cells_[i].in_flight = false;
  record_write(address, bytes, clock, site);
  fill(address, data, bytes);
}

}  // namespace qrow::emulator
