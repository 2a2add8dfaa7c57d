// A plan: for one spec on one device, the kernels of one workload or of every bucket, loaded.
// Immutable; any thread may run it; it outlives its context.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/dispatch.hpp"
#include "runtime/kernel_provider.hpp"
#include "runtime/launch.hpp"

namespace qrow {

// One choice, compiled and loaded, and what there is to say about it.
struct Pick {
  Launch launch;
  Choice choice;
  std::string tuning_text;
  std::string key_hex;  // of the attention kernel
  const Arch* arch = nullptr;
  Source source = Source::compiled;  // of the attention kernel
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
  int smem_bytes = 0;  // static + dynamic
};

// The workload of a plan: qrow_workload in C++.
struct PlanWorkload {
  int batch = 0;
  int rows = 0;
  long long max_kv_len = 0;
  long long window = 0;
  int splits = 0;
  std::string family;
  std::string tuning;
};

class Plan {
 public:
  // `picks[i]` serves bucket i (bucket_index of dispatch.hpp); a single one serves all. `described`
  // is the one that qrow_plan_info tells about.
  Plan(const Spec& spec, std::shared_ptr<LaunchTarget> target,
       std::vector<std::shared_ptr<const Pick>> picks, int splits, std::size_t described);

  const Spec& spec() const { return spec_; }
  const Pick& described() const { return *picks_[described_]; }
  std::size_t workspace_bytes(int batch, long long max_kv_len) const;
  void run(const qrow_args& args, void* workspace, std::size_t workspace_bytes,
           CUstream stream) const;

 private:
  const Spec spec_;
  const std::shared_ptr<LaunchTarget> target_;
  const std::vector<std::shared_ptr<const Pick>> picks_;
  const int splits_;
  const std::size_t described_;
};

// The most bytes that a call within these bounds needs, over kernels of these geometries.
// Throws Error(invalid_argument) for bounds that make no sense.
std::size_t workspace_bytes_over(const std::vector<Geometry>& geometries, GridQuery query);

}  // namespace qrow
