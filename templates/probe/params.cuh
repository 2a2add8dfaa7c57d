// The parameters of the probe kernel.
#pragma once

namespace qrow {

struct ProbeParams {
  const unsigned* in;  // [lanes, words_in]
  unsigned* out;       // [lanes, words_out]
  int lanes;           // a multiple of 32
};

}  // namespace qrow
