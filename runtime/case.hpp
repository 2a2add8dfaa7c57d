// The case line: one line of key=value words that names a spec and, if present, a workload. The same line is a test, a
// benchmark, a prewarm entry and a bug report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/spec.hpp"

namespace qrow {

struct Case {
  Spec spec;
  // Workload. 0 or empty: not given.
  int batch = 0;
  std::vector<long long> lens;  // one for all, or one per request ("65536,31x4096" expanded)
  std::vector<int> ragged;      // rows of each request; empty: all spec.max_rows
  long long window = 0;         // width, where spec.window
  double softcap = 0;
  bool scale_inline = false;
  bool tree_chain = false;
  std::string layout = "nhd";   // nhd, hnd, interleaved, packed, padded, fused_q joined by '+'
  bool csr = false;
  int splits = 0;
  std::string family;
  std::string tuning;
  unsigned long long seed = 1;

  long long max_len() const;    // 0 if no lengths are given
  bool has_workload() const { return batch > 0 && !lens.empty(); }
};

// Keys in any order. Throws Error(invalid_argument) naming the word and listing what is legal.
Case parse_case(std::string_view line);
// Canonical: keys in the documented order, defaults left out.
std::string format_case(const Case& c);
std::string format_spec(const Spec& spec);

// Throws Error(invalid_argument) for numbers that make no sense (heads not a multiple, page < 1, ...), naming the field.
void check_spec(const Spec& spec);

// A file of case lines: one a line, '#' starts a comment. Throws Error naming file, line number and word.
std::vector<Case> read_case_file(const std::string& path);

}  // namespace qrow
