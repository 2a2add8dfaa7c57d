// The device of `qrow run`, `qrow bench` and the GPU tests: a current context, a stream and the
// tool kernels (fill, reference, read ceiling), which come through the same kernel provider as the
// product's. Used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "runtime/driver/device.hpp"
#include "runtime/driver/memory.hpp"
#include "runtime/driver/module.hpp"
#include "runtime/kernel_provider.hpp"
#include "templates/synthetic/params.cuh"

namespace qrow {

class WorkbenchDevice {
 public:
  // Makes the primary context of `ordinal` current while it lives. Throws Error(no_device), or
  // Error(unsupported) for a compute capability that qrow has no cubins for.
  WorkbenchDevice(int ordinal, const ProviderOptions& options);

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  const Arch& arch() const { return *arch_; }
  CUstream stream() const { return stream_.get(); }
  // Waits for the whole context: copies and memsets run beside stream().
  void synchronize() const;
  // False once a kernel has faulted: CUDA then refuses everything until the process ends.
  bool usable() const { return driver_->cuCtxSynchronize() == CUDA_SUCCESS; }
  std::size_t free_bytes() const;

  // Launches on stream(). `params` points to the kernel's one parameter.
  void launch(const Variant& variant, unsigned num_blocks, const void* params);
  // Compiles or loads without launching.
  void prepare(const Variant& variant) { module_of(variant); }

  // Standard normal values times `factor`, rounded to `dtype`: a function of (seed, index) alone.
  void fill_normal(int dtype, void* data, unsigned long long count, unsigned long long seed,
                   float factor);
  void fill_ranges(void* data, std::span<const SyntheticRange> ranges, unsigned char byte);

 private:
  const Module& module_of(const Variant& variant);

  const Driver& driver_;
  PrimaryContext context_;
  DeviceInfo info_;
  const Arch* arch_ = nullptr;
  Stream stream_;
  KernelProvider provider_;
  std::map<std::string, std::unique_ptr<const Module>> modules_;  // by key text
};

}  // namespace qrow
