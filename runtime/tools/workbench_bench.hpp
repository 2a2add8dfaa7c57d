// One row of `qrow bench`: a case timed with cold caches, checked, and held against the device's
// read ceiling.
#pragma once

#include <optional>
#include <string>

#include "runtime/tools/workbench_compare.hpp"
#include "runtime/tools/workbench_host_time.hpp"
#include "runtime/tools/workbench_timing.hpp"

namespace qrow {

struct BenchOptions {
  bool check = true;    // against the reference
  bool ceiling = true;  // measure the read ceiling
  bool host_time = false;
};

struct BenchResult {
  double us = 0;        // median of a call, all of its kernels included
  long long bytes = 0;  // live KV, Q and O
  double gbps = 0;
  double ceiling_gbps = 0;  // 0: not measured
  int num_sets = 0;         // of KV, rotated over
  std::optional<Comparison> comparison;
  std::string verdict;  // "" within the error limits
  std::optional<HostTime> host_time;
  std::string family, tuning, key;
  int registers = 0;
  int smem_bytes = 0;
  int blocks_per_sm = 0;
  std::size_t workspace_bytes = 0;
};

BenchResult bench_case(WorkbenchDevice& device, const ApiContext& context,
                       const ProviderOptions& provider, ReadCeiling& ceiling, const Case& c,
                       const BenchOptions& options);

}  // namespace qrow
