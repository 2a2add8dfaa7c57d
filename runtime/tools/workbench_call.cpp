#include "runtime/tools/workbench_call.hpp"

#include <vector>

namespace qrow {
void check_api(qrow_status status) {
  if (status != QROW_STATUS_OK) throw Error(static_cast<Status>(status), qrow_last_error());
}

ApiContext::ApiContext(int ordinal, const ProviderOptions& options) {
  std::vector<const char*> seeds;
  for (const std::string& path : options.seed_paths) seeds.push_back(path.c_str());
  qrow_context_options o{};
  o.struct_size = sizeof o;
  check_api(qrow_context_options_init(&o));
  o.device = ordinal;
  o.jit_mode = options.cache_only ? QROW_JIT_CACHE_ONLY : QROW_JIT_ON;
  o.cache_mode = options.cache_off   ? QROW_CACHE_OFF
                 : options.read_only ? QROW_CACHE_READ_ONLY
                                     : QROW_CACHE_READ_WRITE;
  o.cache_path = options.cache_path.empty() ? nullptr : options.cache_path.c_str();
  o.seed_paths = seeds.data();
  o.num_seed_paths = static_cast<std::int32_t>(seeds.size());
  o.compile_deadline_ms = options.compile_deadline_ms;
  check_api(qrow_context_create(&o, &context_));
}

qrow_stats ApiContext::stats() const {
  qrow_stats stats{};
  stats.struct_size = sizeof stats;
  check_api(qrow_stats_get(context_, &stats));
  return stats;
}

ApiCase::ApiCase(const Case& c) {
  spec.struct_size = sizeof spec;
  workload.struct_size = sizeof workload;
  check_api(qrow_spec_parse(format_case(c).c_str(), &spec, &workload));
}

ApiPlan::ApiPlan(const ApiContext& context, const Case& c) {
  const ApiCase api(c);
  check_api(qrow_plan_create(context.get(), &api.spec, &api.workload, &plan_));
}

qrow_plan_info ApiPlan::info() const {
  qrow_plan_info info{};
  info.struct_size = sizeof info;
  check_api(qrow_plan_info_get(plan_, &info));
  return info;
}

std::size_t ApiPlan::workspace_bytes(int batch, long long max_kv_len) const {
  std::size_t bytes = 0;
  check_api(qrow_plan_workspace_bytes(plan_, batch, max_kv_len, &bytes));
  return bytes;
}

DeviceBuffer make_poisoned_workspace(const Driver& driver, std::size_t bytes) {
  DeviceBuffer workspace(driver, bytes);
  workspace.fill(0xff);
  driver.check(driver->cuCtxSynchronize(), "cuCtxSynchronize");
  return workspace;
}

}  // namespace qrow
