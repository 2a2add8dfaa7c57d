#include "runtime/tools/shared_arguments.hpp"

#include <algorithm>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/driver/device.hpp"

namespace qrow {
namespace {

// The store sets a damaged file aside and starts anew, which suits a service. A person who names a
// file that never was a cache means another one.
void refuse_other_file(const std::string& path) {
  const Support cache = begins_like_cache(path);
  if (cache) return;
  fail(Status::cache,
       "{}. Name another file with --cache; a damaged cache is set aside by 'qrow cache verify "
       "--repair'",
       cache.reason);
}

}  // namespace

ProviderOptions provider_options(Arguments& arguments, Output& output) {
  ProviderOptions options;
  options.cache_path = arguments.value("--cache").value_or("");
  options.log = output.log();
  refuse_other_file(resolve_cache_path(options.cache_path));
  return options;
}

std::unique_ptr<KernelStore> open_cache(Arguments& arguments, Output& output, bool must_exist) {
  return open_cache(arguments.value("--cache").value_or(""), output, must_exist);
}

std::unique_ptr<KernelStore> open_cache(const std::string& given, Output& output, bool must_exist,
                                        bool may_be_damaged) {
  std::string path = resolve_cache_path(given);
  if (must_exist && !path.empty() && !file_exists(path))
    fail(Status::invalid_argument,
         "there is no cache file {}: 'qrow prewarm' makes one, --cache names another", path);
  if (!may_be_damaged) refuse_other_file(path);
  StoreOptions options;
  options.path = given;
  options.log = output.log();
  return KernelStore::open(options, true);
}

const Arch* local_arch(std::string* why) {
  try {
    DeviceInfo device = query_device(Driver::get(), 0);
    std::vector<const Arch*> loadable = loadable_archs(device.major, device.minor);
    if (!loadable.empty()) return loadable.front();
    *why = fmt::format("{} has compute capability {}.{}, for which qrow has no kernels",
                       device.name, device.major, device.minor);
  } catch (const Error& error) {
    *why = error.what();
  }
  return nullptr;
}

std::vector<const Arch*> archs_from(const std::vector<std::string>& names) {
  std::vector<const Arch*> archs;
  for (const std::string& name : names) {
    const Arch* arch = &arch_by_name(name);
    if (std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(arch);
  }
  if (!archs.empty()) return archs;
  std::string why;  // 'qrow env' tells it whole
  if (const Arch* arch = local_arch(&why)) return {arch};
  std::string legal;
  for (const Arch& arch : qrow::archs())
    legal += (legal.empty() ? "" : ", ") + std::string(arch.name);
  fail(Status::invalid_argument,
       "--arch is needed: this machine has no GPU to take it from; legal are {}", legal);
}

}  // namespace qrow
