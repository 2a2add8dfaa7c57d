#include "tests/emulator/emulated.hpp"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "cache/kernel_store.hpp"
#include "jit/entry.hpp"
#include "runtime/prewarm.hpp"
#include "templates/families.hpp"
#include "templates/sources.hpp"
#include "templates/synthetic/family.hpp"

namespace qrow {
namespace {

// Before anything of qrow runs: the driver library is chosen once a process.
const bool environment_is_set = [] {
  setenv("QROW_LIBCUDA", QROW_FAKE_CUDA, 1);
  setenv("QROW_FAKE_EMULATE", QROW_EMULATED_FOLDER, 1);
  for (const char* name : {"QROW_CACHE", "QROW_SEEDS", "QROW_JIT", "QROW_LOG", "QROW_DUMP"})
    unsetenv(name);
  return true;
}();

struct Kernel {
  Variant variant;
  Key key;
};
Kernel kernel_of(const Variant& variant) {
  return {variant, make_key(variant, template_digest(variant.family))};
}

// The cubin that the stand-in driver accepts; the kernel behind it is the object.
KernelRow row_of(const Kernel& kernel) {
  KernelRow row;
  row.key = kernel.key.digest;
  row.key_text = kernel.key.text;
  row.family = kernel.variant.family;
  row.arch = kernel.variant.arch->name;
  row.entry_name = entry_name(kernel.variant, kernel.key);
  row.nvrtc_build = "13.0.88";
  row.smem_bytes = kernel.variant.smem_bytes;
  const auto* bytes = reinterpret_cast<const std::byte*>(fake_cuda::kGoodImage);
  row.cubin.assign(bytes, bytes + std::strlen(fake_cuda::kGoodImage) + 1);
  return row;
}

}  // namespace

Emulated::Emulated(const fake_cuda::Machine& machine) {
  fake_cuda::fake_cuda_reset(&machine);
  arch_ = loadable_archs(machine.major, machine.minor).front();
  ProviderOptions options;
  options.cache_path = folder_.file("cache.db");
  options.cache_only = true;
  device_ = std::make_unique<WorkbenchDevice>(0, options);
  context_ = std::make_unique<ApiContext>(0, options);
}

emulator::BuildCounts Emulated::build(const std::vector<Case>& cases) {
  std::vector<Kernel> kernels = {kernel_of(synthetic_bytes(*arch_))};
  for (const PrewarmItem& item : list_prewarm(cases, {arch_})) {
    if (!item.refusal.empty()) fail(Status::unsupported, "{}: {}", item.case_line, item.refusal);
    if (!item.repeats) kernels.push_back({item.variant, item.key});
  }
  for (const Case& c : cases) {
    kernels.push_back(kernel_of(synthetic_normal(c.spec.q_dtype, *arch_)));
    kernels.push_back(kernel_of(synthetic_normal(c.spec.kv_dtype, *arch_)));
  }
  StoreOptions cache;
  cache.path = folder_.file("cache.db");
  const auto store = KernelStore::open(cache, true);
  std::vector<emulator::BuildItem> items;
  for (const Kernel& kernel : kernels) {
    items.push_back(emulator::build_item(kernel.variant, kernel.key));
    std::string reason;
    if (!store->put(row_of(kernel), &reason)) fail(Status::cache, "{}", reason);
  }
  emulator::BuildOptions options;
  options.folder = QROW_EMULATED_FOLDER;
  options.jobs = static_cast<int>(std::thread::hardware_concurrency());
  return emulator::build_objects(options, items);
}

std::string Emulated::check(const Case& c) {
  CaseData data(*device_, c);
  const ApiPlan plan(*context_, c);
  const qrow_args args = data.args();
  const DeviceBuffer workspace =
      make_poisoned_workspace(device_->driver(), plan.workspace_bytes(args.batch, args.max_kv_len));
  plan.run(args, workspace, device_->stream());
  CaseData::HostCopy copy = data.download();
  return judge(compare(*device_, data, host_reference(c.spec, copy.args)), error_limits(c.spec));
}

emulator::Report Emulated::take_report() {
  emulator::Report report;
  fake_cuda::fake_cuda_take_report(&report);
  return report;
}

}  // namespace qrow
