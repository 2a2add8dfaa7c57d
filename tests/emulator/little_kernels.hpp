// Kernels of a few lines, written in the CUDA language beside a test, compiled for the CPU and run
// without a driver: to see what the emulator says of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/builder.hpp"
#include "runtime/emulator/launch.hpp"
#include "runtime/emulator/object.hpp"

namespace qrow {

// The one parameter of every little kernel; its texts see the same struct.
struct LittleParams {
  unsigned* words = nullptr;  // LittleMemory's
  unsigned n = 0;             // what the kernel wants it to be
};

// Device memory of one allocation, filled with 0, 1, 2, ...
class LittleMemory {
 public:
  static constexpr std::size_t kWords = 4096;
  LittleMemory();

  unsigned* words() { return words_.data() + kGuardWords; }
  unsigned& operator[](std::size_t i) { return words()[i]; }
  emulator::Memory& memory() { return memory_; }

 private:
  static constexpr std::size_t kGuardWords = 1024;  // host memory that is no device memory
  std::vector<unsigned> words_;
  emulator::Memory memory_;
};

// How a kernel is launched.
struct LittleLaunch {
  unsigned threads = 64;
  emulator::Index grid{1, 1, 1};
  unsigned smem_bytes = 4096;
  unsigned n = 0;
  bool overlaps_previous = false;
  emulator::Landing landing = emulator::Landing::late;
  std::uint64_t seed = 0;
};

class LittleKernels {
 public:
  // `text` holds kernels that take `const Params&` and that BOTH(name) or ONE(name) make known:
  // of a template <bool kMended> void name(const Params&), name_broken and name_mended; or name.
  LittleKernels(const std::string& name, const std::string& text,
                const emulator::BuildOptions& options = default_options());
  // Objects are kept beside the build's own.
  static emulator::BuildOptions default_options();

  emulator::Report run(const std::string& kernel, const LittleLaunch& launch, LittleMemory& memory,
                       emulator::Grid& grid) const;
  // In memory of its own.
  emulator::Report run(const std::string& kernel, const LittleLaunch& launch) const;
  // "name.cpp:17" of the line that holds `mark`, which is in no other line.
  std::string place(const std::string& mark) const;

 private:
  std::string name_, source_;
  emulator::BuildOptions options_;
};

// Schedules: threads in turn, and drawn from `seeds` other seeds; each with copies that land late
// and at random.
std::vector<LittleLaunch> schedules(const LittleLaunch& launch, int seeds);

struct Expected {
  emulator::FaultKind kind;
  std::vector<std::string> marks = {};           // of the lines that the fault's text names
  std::vector<std::string> words = {};           // that it holds
  std::vector<emulator::FaultKind> others = {};  // that may be found beside it
};
// NAME_broken has this fault under every schedule, and NAME_mended is clean under more of them.
void check_bites(const LittleKernels& kernels, const std::string& name, const LittleLaunch& launch,
                 const Expected& expected);
void check_found(const LittleKernels& kernels, const std::string& kernel,
                 const LittleLaunch& launch, const Expected& expected);
void check_clean(const LittleKernels& kernels, const std::string& kernel,
                 const LittleLaunch& launch);

// Faults of plain accesses cannot be seen here: says so with skip_case() and returns true.
bool skips_faults();

}  // namespace qrow
