#include "runtime/tools/workbench_device.hpp"

#include <algorithm>

#include "jit/entry.hpp"
#include "jit/key.hpp"
#include "templates/sources.hpp"
#include "templates/synthetic/family.hpp"

namespace qrow {
namespace {

const Arch* arch_of(const DeviceInfo& info) {
  const std::vector<const Arch*> list = loadable_archs(info.major, info.minor);
  if (list.empty()) {
    fail(Status::unsupported, "device {} ({}) has compute capability {}.{}; qrow starts at 8.0",
         info.ordinal, info.name, info.major, info.minor);
  }
  return list.front();
}

// Enough blocks to fill any device; the fill kernels stride over the rest.
constexpr unsigned kFillBlocks = 4096;
constexpr unsigned long long kLeastFillPerBlock = 2048;  // elements, so that small fills stay small

}  // namespace

WorkbenchDevice::WorkbenchDevice(int ordinal, const ProviderOptions& options)
    : driver_(Driver::get()),
      context_(driver_, ordinal),
      info_(query_device(driver_, ordinal)),
      arch_(arch_of(info_)),
      stream_(driver_),
      provider_(options) {}

void WorkbenchDevice::synchronize() const {
  driver_.check(driver_->cuCtxSynchronize(), "cuCtxSynchronize");
}

std::size_t WorkbenchDevice::free_bytes() const {
  std::size_t free = 0, total = 0;
  driver_.check(driver_->cuMemGetInfo_v2(&free, &total), "cuMemGetInfo_v2");
  return free;
}

const Module& WorkbenchDevice::module_of(const Variant& variant) {
  const Key key = make_key(variant, template_digest(variant.family));
  std::unique_ptr<const Module>& module = modules_[key.text];
  if (!module) {
    KernelProvider::Request request;
    request.variant = &variant;
    const std::shared_ptr<const Cubin> cubin = provider_.get(request);
    std::string refusal;
    module = Module::load(driver_, cubin->row.cubin, entry_name(variant, key), variant.smem_bytes,
                          &refusal);
    if (!module)
      fail(Status::driver, "the driver refuses the {} kernel {}: {}", variant.family,
           key.digest.hex(), refusal);
  }
  return *module;
}

void WorkbenchDevice::launch(const Variant& variant, unsigned num_blocks, const void* params) {
  CUlaunchConfig config{};
  config.gridDimX = num_blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(variant.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(variant.smem_bytes);
  config.hStream = stream();
  void* arguments[] = {const_cast<void*>(params)};
  driver_.check(
      driver_->cuLaunchKernelEx(&config, module_of(variant).function(), arguments, nullptr),
      "cuLaunchKernelEx");
}

void WorkbenchDevice::fill_normal(int dtype, void* data, unsigned long long count,
                                  unsigned long long seed, float factor) {
  if (count == 0) return;
  SyntheticParams params{};
  params.data = data;
  params.count = count;
  params.seed = seed;
  params.factor = factor;
  const unsigned long long blocks = (count + kLeastFillPerBlock - 1) / kLeastFillPerBlock;
  launch(synthetic_normal(dtype, arch()),
         static_cast<unsigned>(std::min<unsigned long long>(blocks, kFillBlocks)), &params);
}

void WorkbenchDevice::fill_ranges(void* data, std::span<const SyntheticRange> ranges,
                                  unsigned char byte) {
  if (ranges.empty()) return;
  DeviceBuffer list(driver_, ranges.size_bytes());
  list.write(ranges.data(), ranges.size_bytes());
  synchronize();
  SyntheticParams params{};
  params.data = data;
  params.byte = byte;
  params.ranges = list.as<const SyntheticRange>();
  params.num_ranges = ranges.size();
  launch(synthetic_bytes(arch()),
         static_cast<unsigned>(std::min<std::size_t>(ranges.size(), kFillBlocks)), &params);
  synchronize();  // the list ends here
}

}  // namespace qrow
