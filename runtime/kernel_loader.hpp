// Kernels in the driver, one a key: asks the provider for cubins and keeps what it loaded as long
// as the context lives. Owned by a context; any thread may use it. Not on the run path.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/driver/module.hpp"
#include "runtime/kernel_provider.hpp"

namespace qrow {

struct LoadedKernel {
  std::shared_ptr<const Module> module;
  std::shared_ptr<const Cubin> cubin;
  Source source = Source::compiled;  // memory where it was loaded before this request
};

class KernelLoader {
 public:
  KernelLoader(const Driver& driver, int ordinal, KernelProvider& provider)
      : driver_(driver), ordinal_(ordinal), provider_(provider) {}

  // Throws Error(invalid_argument) unless the current CUDA context is one of this loader's device.
  void check_current_context() const;
  bool is_capturing(CUstream stream) const;
  // As far as it can be told without a stream: a capture that other streams of the context would
  // join.
  bool capture_in_progress() const;

  // `case_line` is what to prewarm, for messages. Throws what KernelProvider::get throws, and
  // Error(driver).
  LoadedKernel get(const Variant& variant, const std::string& case_line);
  // Nothing unless it was loaded before.
  std::optional<LoadedKernel> find(const Variant& variant);
  KernelProvider& provider() { return provider_; }

  double load_seconds() const { return static_cast<double>(load_microseconds_) * 1e-6; }
  unsigned long long cubin_bytes_loaded() const { return cubin_bytes_loaded_; }

 private:
  std::shared_ptr<const Module> load(const Cubin& cubin, int smem_bytes);

  const Driver& driver_;
  const int ordinal_;
  KernelProvider& provider_;
  std::mutex mutex_;  // of kernels_
  std::map<Digest, LoadedKernel> kernels_;
  std::atomic<unsigned long long> load_microseconds_{0}, cubin_bytes_loaded_{0};
};

}  // namespace qrow
