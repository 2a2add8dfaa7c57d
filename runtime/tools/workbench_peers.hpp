// Published timings of other kernels, to print beside ours: a JSON list of {"case", "method", "us",
// ...}.
#pragma once

#include <string>
#include <vector>

#include "runtime/case.hpp"

namespace qrow {

struct PeerTiming {
  std::string case_line;  // canonical
  std::string method;
  double us = 0;
};

// Rows whose case this version cannot read are left out. Throws Error(invalid_argument) naming the
// file and the field.
std::vector<PeerTiming> read_peers(const std::string& path);

}  // namespace qrow
