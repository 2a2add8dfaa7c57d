// The shared memory of one block: bytes, addresses as the device sees them, and for every byte who
// wrote and read it last, so that races are found whatever the schedule was. Used again for the
// next block: to make it costs more than most blocks.
//
// Layout: [reserved | dynamic | gap | static objects, each with a gap]. Everything starts as NaN.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/emulator/clock.hpp"
#include "runtime/emulator/fault.hpp"

namespace qrow::emulator {

class SharedMemory {
 public:
  SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // The most that a block may ask for.
  static constexpr unsigned kMaxDynamicBytes = 227 << 10;

  // For a new block; faults go to `report`, which must outlive its work.
  // Where plain accesses are not seen, a byte that nobody wrote may have been written.
  void reset(unsigned dynamic_bytes, bool plain_accesses_seen, Report* report,
             std::string block_name);

  char* dynamic() { return bytes() + kDynamicAt; }
  void* static_object(const void* type, unsigned bytes);
  bool holds(const void* address) const {
    const char* at = static_cast<const char*>(address);
    return at >= bytes() && at < bytes() + kBytes;
  }
  unsigned address_of(const void* pointer) const {
    return static_cast<unsigned>(static_cast<const char*>(pointer) - bytes());
  }

  // Checked accesses by the thread of `clock`; `alignment` in bytes. Out of bounds or misaligned:
  // reported, and Stopped is thrown. All else is reported alone.
  const char* read(unsigned address, unsigned bytes, unsigned alignment, const Clock& clock,
                   Site site);
  char* write(unsigned address, unsigned bytes, unsigned alignment, const Clock& clock, Site site);

  // An asynchronous copy to these bytes begins: they hold NaN and must not be touched until it
  // lands.
  void begin_copy(unsigned address, unsigned bytes, const Clock& clock, Site site);
  // Its bytes arrive, as they may at any time before the wait.
  void fill(unsigned address, const void* data, unsigned bytes);
  // A small number for a place in the kernel, the same as long as this lives.
  std::uint16_t place_of(Site site);
  // The wait is over: the copying thread has written `data` now.
  void land_copy(unsigned address, const void* data, unsigned bytes, const Clock& clock, Site site);

 private:
  static constexpr unsigned kDynamicAt = 1024;
  static constexpr unsigned kGap = 128;
  static constexpr unsigned kBytes = 256 << 10;

  static constexpr unsigned kWordBytes = 4;

  struct Access {
    std::uint32_t epoch = 0;  // 0: none
    std::uint16_t thread = 0;
    std::uint16_t site = 0;  // index into sites_
  };
  // Of one word, as long as every access has taken it whole; else of one byte.
  struct Cell {
    Access writer;
    Access readers[2];
    std::uint32_t more_readers = 0;  // 1 + index into more_readers_, where two are not enough
    std::uint16_t in_flight = 0;
    std::uint16_t parts = 0;  // of a word: 1 + index into parts_, where its bytes differ
  };

  char* bytes() { return bytes_; }
  const char* bytes() const { return bytes_; }
  void check_place(unsigned address, unsigned bytes, unsigned alignment, const Clock& clock,
                   Site site, const char* verb);
  // Calls of(cell, address) for the cells of these bytes.
  template <typename Of>
  void for_cells(unsigned address, unsigned bytes, Of of);
  void split(Cell& word);
  void check_write(const Cell& cell, unsigned address, const Clock& clock, Site site);
  void record_write(Cell& cell, const Access& writer);
  void add_reader(Cell& cell, const Access& reader, const Clock& clock);
  Access access_of(const Clock& clock, Site site);
  void report(FaultKind kind, unsigned address, const char* verb, const Clock& clock, Site site,
              const char* earlier_verb, const Access& earlier);

  std::vector<char> storage_;
  char* bytes_;              // storage_, aligned
  std::vector<Cell> cells_;  // of words
  std::vector<std::array<Cell, kWordBytes>> parts_;
  std::vector<std::vector<Access>> more_readers_;
  std::vector<Site> sites_;
  std::map<Site, std::uint16_t> site_indices_;
  struct Known {
    Site site = nullptr;
    std::uint16_t index = 0;
  };
  std::array<Known, 256> known_;  // of site_indices_, by the low bits of the site
  struct Range {
    unsigned begin, end;
  };
  std::vector<Range> ranges_;  // that may be touched
  std::map<const void*, void*> statics_;
  unsigned used_ = 0;  // bytes from the start that a block may have touched
  bool plain_accesses_seen_ = true;
  Report* report_ = nullptr;
  std::string block_;
};

}  // namespace qrow::emulator
