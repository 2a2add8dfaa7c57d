// What qrow asks a device once, when a context is made. Figures are those of the slice where MIG
// divides the chip.
#pragma once

#include <string>

#include "runtime/driver/driver.hpp"

namespace qrow {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;  // information only: nothing is decided by it
  int major = 0;     // compute capability
  int minor = 0;
  int num_sms = 0;
  int smem_per_block_bytes = 0;  // opt-in limit
  int smem_per_sm_bytes = 0;
  int l2_bytes = 0;
  int sm_clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  long long memory_bytes = 0;
};

// Throws Error(no_device) naming the ordinal and how many devices there are.
DeviceInfo query_device(const Driver& driver, int ordinal);

// Ordinal of the device of the calling thread's current CUDA context. Throws Error(no_device) if
// there is none current.
int current_device(const Driver& driver);
int device_count(const Driver& driver);

}  // namespace qrow
