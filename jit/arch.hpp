// Architectures: the rows of arch.def, aliases, and which cubins a device can load.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qrow {

// The features that generated code may ask for, by name: entry.cpp writes them into the translation
// unit as `qrow::Target{.e4m3_convert = 1, ...}` (templates/common/target.cuh has the same names).
struct Arch {
  const char* name;  // canonical, also NVRTC's --gpu-architecture value: "sm_90a"
  int major;
  int minor;
  int smem_per_block_bytes;
  int smem_per_sm_bytes;
  int warps_per_sm;
  int e4m3_convert;
  int programmatic_launch;

  bool exact() const {
    return name[std::string_view(name).size() - 1] == 'a';
  }  // loads on this very chip only
};

// A field of qrow::Target and where it is in a row; a new feature is a column of arch.def and a row
// here (arch.cpp).
struct ArchFeature {
  const char* name;
  int Arch::*value;
};
std::span<const ArchFeature> arch_features();

std::span<const Arch> archs();  // in the order of arch.def

// Accepts canonical names and aliases ("sm_90", "90", "9.0", "h200", "H100", "b200", "4090",
// "a100", ...), any case. Throws Error(invalid_argument) listing what is legal.
const Arch& arch_by_name(std::string_view name);

// Cubins that a device of compute capability major.minor can load, best first (8.7: sm_86,
// sm_80; 12.1: sm_121a). Empty if qrow has none.
std::vector<const Arch*> loadable_archs(int major, int minor);

}  // namespace qrow
