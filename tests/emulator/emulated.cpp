#include "tests/emulator/emulated.hpp"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "cache/kernel_store.hpp"
#include "jit/entry.hpp"
#include "runtime/prewarm.hpp"
#include "templates/common/dtype.cuh"
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

ProviderOptions options_of(const std::string& cache_path) {
  ProviderOptions options;
  options.cache_path = cache_path;
  options.cache_only = true;
  return options;
}

// Before the device asks for it.
const Arch* start_machine(const fake_cuda::Machine& machine) {
  if (!environment_is_set) fail(Status::internal, "the environment was not set");
  fake_cuda::fake_cuda_reset(&machine);
  return loadable_archs(machine.major, machine.minor).front();
}

Emulated& shared_device() {
  // Never destroyed: the stand-in driver may be gone by the time that static objects are.
  static Emulated* const device = new Emulated;
  return *device;
}

}  // namespace

Gpu* gpu_or_skip() { return &shared_device().gpu(); }

Case prepared(Gpu&, const std::string& line) {
  const Case c = parse_case(line);
  shared_device().build({c});
  return c;
}

std::string check_call(Gpu& gpu, const ApiPlan& plan, CaseData& data, const qrow_args& args) {
  const DeviceBuffer workspace = make_poisoned_workspace(
      gpu.device.driver(), plan.workspace_bytes(args.batch, args.max_kv_len));
  data.poison_output();
  plan.run(args, workspace, gpu.device.stream());
  // What the caller changed in `args`, on the host's copy of the tensors.
  CaseData::HostCopy copy = data.download();
  copy.args.rows = args.rows;
  copy.args.max_kv_len = args.max_kv_len;
  copy.args.softmax_scale = args.softmax_scale;
  const Spec& spec = data.description().spec;
  return judge(compare(gpu.device, data, host_reference(spec, copy.args)), error_limits(spec));
}

Emulated::Emulated(const fake_cuda::Machine& machine)
    : arch_(start_machine(machine)),
      gpu_{{0, options_of(folder_.file("cache.db"))}, {0, options_of(folder_.file("cache.db"))}} {}

emulator::BuildCounts Emulated::build(const std::vector<Case>& cases) {
  std::vector<Kernel> kernels = {kernel_of(synthetic_bytes(*arch_))};
  for (const PrewarmItem& item : list_prewarm(cases, {arch_}))
    if (item.refusal.empty() && !item.repeats) kernels.push_back({item.variant, item.key});
  const Family& reference = *family_by_name("reference");
  for (const Case& c : cases) {
    kernels.push_back(kernel_of(
        reference.variant(c.spec, reference.default_tuning(c.spec, *arch_, Bucket{}), *arch_)));
  }
  for (const DType type :
       {DType::bf16, DType::f16, DType::f32, DType::e4m3, DType::e5m2, DType::int8}) {
    kernels.push_back(kernel_of(synthetic_normal(static_cast<int>(type), *arch_)));
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
  try {
    CaseData data(gpu_.device, c);
    const ApiPlan plan(gpu_.context, c);
    return check_call(gpu_, plan, data, data.args());
  } catch (const Error& error) {
    return error.what();
  }
}

emulator::Report Emulated::take_report() {
  emulator::Report report;
  fake_cuda::fake_cuda_take_report(&report);
  return report;
}

}  // namespace qrow
