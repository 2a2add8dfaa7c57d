#include "runtime/tools/emulated_device.hpp"

#include <algorithm>
#include <thread>

#include "cache/kernel_store.hpp"
#include "jit/entry.hpp"
#include "runtime/base/file.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/emulator/driver.hpp"
#include "runtime/tools/workbench_data.hpp"
#include "templates/sources.hpp"
#include "templates/synthetic/family.hpp"

namespace qrow {

namespace {

constexpr const char* kEmulatedArch = "sm_90a";

bool are_built_in(const std::vector<EmulatedKernel>& kernels) {
  return std::ranges::all_of(kernels, [](const EmulatedKernel& kernel) {
    return emulator::EmulatedDriver::get().has_built_in(entry_name(kernel.variant, kernel.key));
  });
}

KernelRow row_of(const EmulatedKernel& kernel) {
  KernelRow row;
  row.key = kernel.key.digest;
  row.key_text = kernel.key.text;
  row.family = kernel.variant.family;
  row.arch = kernel.variant.arch->name;
  row.entry_name = entry_name(kernel.variant, kernel.key);
  row.nvrtc_build = "for the CPU";
  row.smem_bytes = kernel.variant.smem_bytes;
  const auto* image = reinterpret_cast<const std::byte*>(emulator::kImage);
  row.cubin.assign(image, image + sizeof emulator::kImage);
  return row;
}

std::string objects_folder() {
  const std::optional<std::string> cache = user_cache_folder();
  if (!cache) fail(Status::cache, "there is no home folder to make kernels for the CPU in");
  return *cache + "/emulated";
}

}  // namespace

EmulatedKernel emulated_kernel(const Variant& variant) {
  return {variant, make_key(variant, template_digest(variant.family))};
}

std::vector<EmulatedKernel> kernels_of_call(const Case& c, const Arch& arch) {
  const int longest = std::max(1, std::ranges::max(expand_lens(c)));
  const Bucket bucket = bucket_of(c.spec, c.batch, longest, c.spec.max_rows, c.window);
  std::vector<EmulatedKernel> kernels;
  for (const Variant& variant :
       variants_of(c.spec, choose(c.spec, arch, bucket, c.family, c.tuning), arch)) {
    kernels.push_back(emulated_kernel(variant));
  }
  kernels.push_back(emulated_kernel(synthetic_bytes(arch)));
  kernels.push_back(emulated_kernel(synthetic_normal(c.spec.q_dtype, arch)));
  if (c.spec.kv_dtype != c.spec.q_dtype)
    kernels.push_back(emulated_kernel(synthetic_normal(c.spec.kv_dtype, arch)));
  return kernels;
}

void write_emulated_cache(const std::string& path, const std::vector<EmulatedKernel>& kernels) {
  StoreOptions options;
  options.path = path;
  const auto store = KernelStore::open(options, true);
  for (const EmulatedKernel& kernel : kernels) {
    std::string reason;
    if (!store->put(row_of(kernel), &reason)) fail(Status::cache, "{}: {}", path, reason);
  }
}

ProviderOptions emulated_provider(const std::string& cache_path) {
  ProviderOptions options;
  options.cache_path = cache_path;
  options.cache_only = true;
  return options;
}

Emulation start_emulation(const Case& c, const std::string& folder) {
  const std::vector<EmulatedKernel> kernels = kernels_of_call(c, arch_by_name(kEmulatedArch));
  emulator::EmulatedDriver& driver = emulator::EmulatedDriver::get();
  Emulation emulation;
  emulation.built_in = are_built_in(kernels);
  if (!emulation.built_in) {
    emulator::BuildOptions options;
    options.folder = objects_folder();
    options.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<emulator::BuildItem> items;
    for (const EmulatedKernel& kernel : kernels)
      items.push_back(emulator::build_item(kernel.variant, kernel.key));
    emulation.compiled = emulator::build_objects(options, items).compiled;
    driver.set_built_in({});  // objects check more: every plain load and store
    driver.set_objects(options.folder);
  }
  Driver::install(emulator::EmulatedDriver::functions(), "the CPU");
  emulation.provider = emulated_provider(folder + "/kernels.db");
  write_emulated_cache(emulation.provider.cache_path, kernels);
  return emulation;
}

}  // namespace qrow
