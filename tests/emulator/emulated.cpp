#include "tests/emulator/emulated.hpp"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/dispatch.hpp"
#include "runtime/tools/emulated_device.hpp"
#include "templates/common/dtype.cuh"
#include "templates/families.hpp"
#include "templates/probe/family.hpp"
#include "templates/synthetic/family.hpp"

namespace qrow {
namespace {

// scripts/mutate keeps the objects of broken templates in folders of their own.
std::string objects_folder() {
  const char* given = std::getenv("QROW_TEST_OBJECTS");
  return given != nullptr ? given : QROW_EMULATED_FOLDER;
}

// Before anything of qrow runs: the driver library is chosen once a process.
const bool environment_is_set = [] {
  setenv("QROW_LIBCUDA", QROW_FAKE_CUDA, 1);
  setenv("QROW_FAKE_EMULATE", objects_folder().c_str(), 1);
  for (const char* name : {"QROW_CACHE", "QROW_SEEDS", "QROW_JIT", "QROW_LOG", "QROW_DUMP"})
    unsetenv(name);
  return true;
}();

// Before the device asks for it.
const Arch* start_machine(const fake_cuda::Machine& machine) {
  if (!environment_is_set) fail(Status::internal, "the environment was not set");
  fake_cuda::fake_cuda_reset(&machine);
  return loadable_archs(machine.major, machine.minor).front();
}

Emulated& shared_device() {
  // Never destroyed: the stand-in driver may be gone by the time that static objects are.
  static Emulated* const device = [] {
    auto* made = new Emulated;
    made->build({});
    return made;
  }();
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
      gpu_{{0, emulated_provider(folder_.file("cache.db"))},
           {0, emulated_provider(folder_.file("cache.db"))}} {}

emulator::BuildCounts Emulated::build(const std::vector<Case>& cases) {
  std::vector<EmulatedKernel> kernels;
  const Family& reference = *family_by_name("reference");
  for (const Case& c : cases) {
    // What the product refuses needs no kernel; its call will say so.
    if (ask_families(c.spec, *arch_, Bucket{}).front().support) {
      const std::vector<EmulatedKernel> call = kernels_of_call(c, *arch_);
      kernels.insert(kernels.end(), call.begin(), call.end());
    }
    kernels.push_back(emulated_kernel(
        reference.variant(c.spec, reference.default_tuning(c.spec, *arch_, Bucket{}), *arch_)));
  }
  for (const DType type :
       {DType::bf16, DType::f16, DType::f32, DType::e4m3, DType::e5m2, DType::int8}) {
    kernels.push_back(emulated_kernel(synthetic_normal(static_cast<int>(type), *arch_)));
  }
  kernels.push_back(emulated_kernel(synthetic_bytes(*arch_)));
  for (int operation = 0; operation < kProbeOperations && arch_->programmatic_launch; ++operation)
    kernels.push_back(emulated_kernel(probe_variant(ProbeOperation(operation), *arch_)));
  write_emulated_cache(folder_.file("cache.db"), kernels);
  std::vector<emulator::BuildItem> items;
  for (const EmulatedKernel& kernel : kernels)
    items.push_back(emulator::build_item(kernel.variant, kernel.key));
  emulator::BuildOptions options;
  options.folder = objects_folder();
#ifdef QROW_EMULATED_SANITIZE
  options.instrument = emulator::Instrument::sanitize;
#endif
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
