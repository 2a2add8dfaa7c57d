// The product as its users call it: owners of the C API's handles that throw instead of returning a
// status.
#pragma once

#include "runtime/case.hpp"
#include "runtime/driver/memory.hpp"
#include "runtime/include/qrow/qrow.h"
#include "runtime/kernel_provider.hpp"

namespace qrow {

// Throws Error with this thread's last error text unless `status` is OK.
void check_api(qrow_status status);

class ApiContext {
 public:
  ApiContext(int ordinal, const ProviderOptions& options);
  ~ApiContext() { qrow_context_destroy(context_); }
  ApiContext(const ApiContext&) = delete;
  ApiContext& operator=(const ApiContext&) = delete;

  qrow_context* get() const { return context_; }
  qrow_stats stats() const;

 private:
  qrow_context* context_ = nullptr;
};

// The spec and workload of a case for the C API, made by qrow_spec_parse from its canonical line.
// The workload's strings live in the thread's storage until the next parse.
struct ApiCase {
  explicit ApiCase(const Case& c);
  qrow_spec spec{};
  qrow_workload workload{};
};

class ApiPlan {
 public:
  ApiPlan(const ApiContext& context, const Case& c);
  ~ApiPlan() { qrow_plan_destroy(plan_); }
  ApiPlan(const ApiPlan&) = delete;
  ApiPlan& operator=(const ApiPlan&) = delete;

  const qrow_plan* get() const { return plan_; }
  qrow_plan_info info() const;
  std::size_t workspace_bytes(int batch, long long max_kv_len) const;
  void run(const qrow_args& args, const DeviceBuffer& workspace, CUstream stream) const {
    check_api(qrow_plan_run(plan_, &args, workspace.as(), workspace.size(), stream));
  }

 private:
  qrow_plan* plan_ = nullptr;
};

// A workspace that holds NaN, as one that another kernel has used may.
DeviceBuffer make_poisoned_workspace(const Driver& driver, std::size_t bytes);

}  // namespace qrow
