// Recorded results of one H200: what single instructions and a few cases gave there. Read by the
// tests of both devices, a GPU and the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "templates/probe/config.cuh"

namespace qrow {

using Words = std::vector<std::uint32_t>;

struct GoldenSection {
  std::string name;
  Words words;
};
// Throws Error(invalid_argument) for a file that is none of ours.
std::vector<GoldenSection> read_golden(const std::string& path);
void write_golden(const std::string& path, const std::vector<GoldenSection>& sections);

// One instruction and its operands, the same on every machine.
struct Probe {
  const char* name;
  ProbeOperation operation;
  bool exact;  // every bit must agree; the record holds a digest alone
  Words in;    // [lanes, words_in]
};
std::vector<Probe> probes();

// What a section of an exact probe holds.
Words digest_words(const Words& words);

}  // namespace qrow
