// A device whose kernels run on the CPU: the stand-in driver with objects made for the cases.
// Everything goes through the product's own way, C API, plan and launches; only libcuda and the
// cubins are stand-ins.
#pragma once

#include <string>
#include <vector>

#include "runtime/emulator/builder.hpp"
#include "runtime/emulator/fault.hpp"
#include "tests/fake_driver/fake_cuda.hpp"
#include "tests/gpu/gpu.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {

// One at a time. gpu_or_skip() of the tests that are shared with tests/gpu gives an H200's.
class Emulated {
 public:
  explicit Emulated(const fake_cuda::Machine& machine = {});

  Gpu& gpu() { return gpu_; }
  // Makes what calls of these cases launch, on all cores.
  emulator::BuildCounts build(const std::vector<Case>& cases);
  // Data, one call, and the comparison with float64: "" where all is well, else what is wrong.
  // REQUIRES: built. Never throws.
  std::string check(const Case& c);
  // What the emulator has seen since the last take.
  static emulator::Report take_report();

 private:
  TemporaryFolder folder_;
  const Arch* arch_;
  Gpu gpu_;
};

}  // namespace qrow
