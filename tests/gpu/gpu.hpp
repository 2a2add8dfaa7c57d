// The device of the GPU tests: one per process, with a context of the product.
#pragma once

#include <string>

#include "runtime/tools/workbench_call.hpp"
#include "runtime/tools/workbench_compare.hpp"

namespace qrow {

struct Gpu {
  WorkbenchDevice device;
  ApiContext context;
};

// Where kernels of the GPU tests are kept: QROW_CACHE, else a folder of the system's temporary one,
// so that a second run compiles nothing.
ProviderOptions gpu_test_options();

// The device, or null after skip_case() where there is none; return from the case then.
Gpu* gpu_or_skip();

// A case of these tests, once the device has whatever its kernels need beyond a compiler.
Case prepared(Gpu& gpu, const std::string& line);

// Runs the case through a plan and compares: "" if all is well, else what is wrong. Never throws.
std::string check_case(Gpu& gpu, const Case& c);
// The same for data and arguments of the caller's making.
std::string check_call(Gpu& gpu, const ApiPlan& plan, CaseData& data, const qrow_args& args);

}  // namespace qrow
