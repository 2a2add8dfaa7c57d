// The parameters of the fill kernels. Offsets and sizes are bytes, pointers are device memory.
#pragma once

namespace qrow {

struct SyntheticRange {
  unsigned long long offset;  // from SyntheticParams::data
  unsigned long long bytes;
};

struct SyntheticParams {
  void* data;
  unsigned long long count;  // mode normal: elements
  unsigned long long seed;   // value = f(seed, index): the same on every device and for every grid
  float factor;
  int byte;                      // mode bytes: the value, 0 to 255
  const SyntheticRange* ranges;  // mode bytes: [num_ranges]
  unsigned long long num_ranges;
};

}  // namespace qrow
