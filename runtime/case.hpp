// The case line: one line of key=value words that names a spec and, if present, a workload. The
// same line is a test, a benchmark, a prewarm entry, a tuning request and a bug report; every tool
// prints it in its canonical form. Plain values; any thread may use the functions.
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
  long long window =
      0;  // width, where spec.window; 0 there: "window=on", the width comes with the call
  double softcap = 0;  // likewise
  bool scale_inline = false;
  bool tree_chain = false;
  std::string layout =
      "nhd";  // canonical: the words of "nhd, hnd, interleaved, packed, padded, fused_q" joined by
              // '+', in that order, nhd only where it stands alone
  bool csr = false;
  int splits = 0;      // 0: automatic
  std::string family;  // "": automatic
  std::string tuning;  // "": automatic; "tile_tokens:32,num_stages:3"
  unsigned long long seed = 1;

  long long max_len() const;  // 0 if no lengths are given
  bool has_workload() const { return batch > 0 && !lens.empty(); }
  bool has_layout(std::string_view word) const;  // "padded", "fused_q", ...
  bool operator==(const Case&) const = default;
};

// Keys in any order. Throws Error(invalid_argument) naming the word and listing what is legal;
// Error(unsupported) for the reserved maths=fp8.
Case parse_case(std::string_view line);
// Canonical: keys in the documented order, defaults left out. parse_case(format_case(c)) == c.
std::string format_case(const Case& c);
std::string format_spec(const Spec& spec);

// The defaults that depend on another word (QROW_DTYPE_DEFAULT, QROW_SCALE_DEFAULT).
int default_kv_dtype(int q_dtype);
Scale default_scale(int kv_dtype);
// "bf16", "e4m3", ...; "?" for a value that is no data type.
const char* dtype_word(int dtype);

// Throws Error(invalid_argument) for numbers that make no sense (heads not a multiple, page < 1,
// ...), naming the field.
void check_spec(const Spec& spec);

// A file of case lines: one a line, '#' starts a comment. Throws Error naming file, line number and
// word.
std::vector<Case> read_case_file(const std::string& path);

}  // namespace qrow
