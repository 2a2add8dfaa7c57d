// What the emulator found wrong with a kernel, and the report of a launch.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/device/machine.hpp"

namespace qrow::emulator {

enum class FaultKind {
  race,            // two threads, one writing, no barrier between
  in_flight,       // target of an asynchronous copy touched before its wait
  uninitialised,   // shared memory read that nobody wrote
  out_of_bounds,   // outside every allocation
  misaligned,      // a vector access at an address that is no multiple of its size
  missing_lane,    // a lane that a collective operation names will never arrive
  wrong_mask,      // a mask that does not name the caller, or differs between lanes
  divergent,       // lanes of one collective operation at different instructions
  deadlock,        // threads wait for each other
  wrong_barrier,   // a named barrier with different counts
  early_read,      // memory of the previous kernel touched before the wait for it
  blocks_collide,  // two blocks of one launch use the same global memory, one writing
};
const char* fault_name(FaultKind kind);

struct Fault {
  FaultKind kind;
  std::string text;  // a sentence: block, threads, places in the source, address
};

// Thrown on an emulated thread that cannot go on.
struct Stopped {};

struct Report {
  std::vector<Fault> faults;  // the first of each kind and place, at most kMostFaults
  long long num_faults = 0;   // all
  long long blocks = 0;
  long long bank_conflicts = 0;  // extra passes over shared memory; no fault
  long long shared_accesses = 0;
  std::string schedule;  // of the launch; of the first with a fault after merge()

  static constexpr std::size_t kMostFaults = 16;

  // Keeps the fault unless the same was seen at these two places.
  void add(FaultKind kind, Site first, Site second, std::string text);
  bool seen(FaultKind kind, Site first, Site second);
  // Adds another launch's.
  void merge(const Report& other);
  bool clean() const { return num_faults == 0; }
  // One line a fault.
  std::string text() const;

 private:
  std::set<std::pair<FaultKind, std::pair<Site, Site>>> places_;
};

// "templates/decode_mma/kernel.cuh:120", with the inlined caller where there is one. Needs debug
// information and the program addr2line; an address otherwise. Slow.
std::string describe_site(Site site);
// Do both stand for one instruction? The compiler may have made several of it.
bool same_place(Site one, Site other);

}  // namespace qrow::emulator
