// The device of `qrow run --emulate`, `qrow demo` and the emulator's tests: the driver for the CPU,
// with the kernels of given cases and a cache file that names them, so that contexts, plans and
// launches go as they do on a GPU.
#pragma once

#include <string>
#include <vector>

#include "jit/key.hpp"
#include "runtime/case.hpp"
#include "runtime/emulator/builder.hpp"
#include "runtime/kernel_provider.hpp"

namespace qrow {

// The kernels of one call of a case, those that fill its tensors included. Throws
// Error(unsupported) with each family's reason.
struct EmulatedKernel {
  Variant variant;
  Key key;
};
std::vector<EmulatedKernel> kernels_of_call(const Case& c, const Arch& arch);
EmulatedKernel emulated_kernel(const Variant& variant);

// Adds a row for each kernel to the cache file; the driver for the CPU finds the kernel by name.
void write_emulated_cache(const std::string& path, const std::vector<EmulatedKernel>& kernels);

// Of contexts that use such a file; they compile nothing.
ProviderOptions emulated_provider(const std::string& cache_path);

// From now on this process's GPU is the CPU, as an sm_90a, with the kernels of this case: those
// that are part of the program, else objects made in a folder of the user's cache. `folder` takes
// the cache file. Throws Error(no_compiler) where kernels must be made and cannot be, Error(driver)
// where libcuda was loaded already.
struct Emulation {
  bool built_in = false;
  int compiled = 0;
  ProviderOptions provider;
};
Emulation start_emulation(const Case& c, const std::string& folder);

}  // namespace qrow
