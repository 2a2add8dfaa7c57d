// A device whose kernels run on the CPU: the stand-in driver with objects made for the cases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/builder.hpp"
#include "runtime/emulator/fault.hpp"
#include "runtime/tools/workbench_call.hpp"
#include "runtime/tools/workbench_compare.hpp"
#include "tests/fake_driver/fake_cuda.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {

// One per process: the driver is loaded once. Everything goes through the product's own way: C API,
// plan, launches; only libcuda and the cubins are stand-ins.
class Emulated {
 public:
  explicit Emulated(const fake_cuda::Machine& machine = {});

  const Arch& arch() const { return *arch_; }
  // Makes what calls of these cases launch, on all cores.
  emulator::BuildCounts build(const std::vector<Case>& cases);
  // Data, one call, and the comparison with float64: "" where all is well, else what is wrong.
  std::string check(const Case& c);
  // What the emulator has seen since the last take.
  emulator::Report take_report();

  WorkbenchDevice& device() { return *device_; }
  ApiContext& context() { return *context_; }

 private:
  TemporaryFolder folder_;
  const Arch* arch_;
  std::unique_ptr<WorkbenchDevice> device_;
  std::unique_ptr<ApiContext> context_;
};

}  // namespace qrow
