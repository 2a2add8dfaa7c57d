// A context: a device (or, offline, an arch), the kernel provider and the kernels made so far. Any
// thread may use it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/driver/device.hpp"
#include "runtime/plan.hpp"

namespace qrow {

struct ContextOptions {
  int device = QROW_DEVICE_CURRENT;  // ordinal, QROW_DEVICE_CURRENT or QROW_DEVICE_NONE
  std::string arch;                  // with QROW_DEVICE_NONE
  ProviderOptions provider;          // jit_mode and cache options; its log is the context's
};

class Context {
 public:
  // Throws Error(no_device, invalid_argument).
  explicit Context(const ContextOptions& options);
  ~Context();

  bool offline() const;
  const Arch& arch() const;          // that kernels are compiled for
  const DeviceInfo& device() const;  // throws Error(no_device) when offline
  const Log& log() const;
  KernelProvider& provider();

  // OK, or no with each family's reason.
  Support can_run(const Spec& spec) const;

  // Null `workload`: the pick of every bucket. Throws Error.
  std::unique_ptr<const Plan> make_plan(const Spec& spec, const PlanWorkload* workload);

  // Sufficient for every kernel that may serve this spec within these bounds.
  std::size_t workspace_bytes(const Spec& spec, int batch, long long max_kv_len) const;

  // One call; `spec` as the caller gave it, struct_size whole. A hit does what Plan::run does.
  void decode(const qrow_spec& spec, const qrow_args& args, void* workspace,
              std::size_t workspace_bytes, CUstream stream);

  // struct_size is left 0.
  qrow_stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qrow
