// The parameters of the read kernel.
#pragma once

namespace qrow {

struct ReadCeilingParams {
  const void* data;          // 16-byte aligned
  unsigned long long bytes;  // a multiple of 16
  unsigned* sink;            // one word, written only if the data happens to fold to `sink_value`
  unsigned sink_value;
};

}  // namespace qrow
