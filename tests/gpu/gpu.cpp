#include "tests/gpu/gpu.hpp"

#include <filesystem>
#include <optional>

#include "runtime/base/env.hpp"
#include "tests/skip.hpp"

namespace qrow {

ProviderOptions gpu_test_options() {
  ProviderOptions options;
  if (!env("QROW_CACHE"))
    options.cache_path = (std::filesystem::temp_directory_path() / "qrow-gpu-tests.db").string();
  options.log = Log::to_stderr(LogLevel::warning);
  return options;
}

Gpu* gpu_or_skip() {
  static std::string reason;
  // Never destroyed: the driver may be gone by the time that static objects are.
  static Gpu* const gpu = []() -> Gpu* {
    try {
      return new Gpu{{0, gpu_test_options()}, {0, gpu_test_options()}};
    } catch (const Error& error) {
      if (error.status() != Status::no_device) throw;
      reason = error.what();
      return nullptr;
    }
  }();
  if (gpu == nullptr) skip_case("no CUDA device: " + reason);
  return gpu;
}

Case prepared(Gpu&, const std::string& line) { return parse_case(line); }

std::string check_call(Gpu& gpu, const ApiPlan& plan, CaseData& data, const qrow_args& args) {
  const DeviceBuffer workspace = make_poisoned_workspace(
      gpu.device.driver(), plan.workspace_bytes(args.batch, args.max_kv_len));
  data.poison_output();
  plan.run(args, workspace, gpu.device.stream());
  const Spec& spec = data.description().spec;
  return judge(compare(gpu.device, data, compute_reference(gpu.device, spec, args)),
               error_limits(spec));
}

std::string check_case(Gpu& gpu, const Case& c) {
  try {
    CaseData data(gpu.device, c);
    const ApiPlan plan(gpu.context, c);
    return check_call(gpu, plan, data, data.args());
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace qrow
