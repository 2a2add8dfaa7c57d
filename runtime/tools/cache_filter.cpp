#include "runtime/tools/cache_filter.hpp"

#include <algorithm>
#include <set>

#include "runtime/prewarm.hpp"
#include "runtime/tools/model_config.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

// Does this GPU count split the model's heads? Those that do not are left out: nobody asked for
// them one by one.
std::vector<Case> cases_of(const Model& model, const std::vector<int>& tensor_parallel) {
  std::vector<Case> cases;
  for (int parallel : tensor_parallel) {
    ModelSplit split;
    split.tensor_parallel = {parallel};
    split.kv_dtypes = {static_cast<int>(DType::bf16), static_cast<int>(DType::f16),
                       static_cast<int>(DType::e4m3)};
    try {
      std::vector<Case> more = model_cases(model, split);
      cases.insert(cases.end(), more.begin(), more.end());
    } catch (const Error&) {
      continue;
    }
  }
  return cases;
}

// Keys that calls of the models may need: rows 1 to 8, every KV type, the usual GPU counts.
std::set<Digest> model_keys(const CacheFilter& filter, const std::vector<const Arch*>& archs) {
  std::set<Digest> keys;
  for (const std::string& path : filter.models)
    for (const PrewarmItem& item :
         list_prewarm(cases_of(read_model(path), filter.tensor_parallel), archs))
      if (item.refusal.empty()) keys.insert(item.key.digest);
  return keys;
}

}  // namespace

CacheFilter cache_filter(Arguments& arguments) {
  CacheFilter filter;
  for (const std::string& name : arguments.list("--arch"))
    filter.archs.emplace_back(arch_by_name(name).name);
  filter.models = arguments.values("--model");
  if (std::optional<std::string> only = arguments.value("--only")) {
    if (*only != "kernels" && *only != "tuning")
      fail(Status::invalid_argument, "--only {}: legal are kernels and tuning", *only);
    filter.kernels = *only == "kernels";
    filter.tunings = *only == "tuning";
  }
  return filter;
}

ExportFilter resolve_filter(const CacheFilter& filter, KernelStore& store) {
  ExportFilter resolved;
  resolved.kernels = filter.kernels;
  resolved.tunings = filter.tunings;
  if (filter.archs.size() == 1) resolved.arch = filter.archs[0];
  if (!filter.kernels || (filter.models.empty() && filter.archs.size() < 2)) return resolved;

  std::vector<KernelRow> rows = store.list("", "");
  std::vector<const Arch*> archs;
  for (const KernelRow& row : rows) {
    const Arch* arch = &arch_by_name(row.arch);
    bool wanted = filter.archs.empty() || std::find(filter.archs.begin(), filter.archs.end(),
                                                    row.arch) != filter.archs.end();
    if (wanted && std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(arch);
  }
  std::set<Digest> keys = model_keys(filter, archs);
  for (const KernelRow& row : rows) {
    bool arch_wanted =
        std::find(archs.begin(), archs.end(), &arch_by_name(row.arch)) != archs.end();
    if (arch_wanted && (filter.models.empty() || keys.contains(row.key)))
      resolved.keys.push_back(row.key);
  }
  if (resolved.keys.empty())
    fail(Status::invalid_argument,
         "no kernel in {} fits --arch and --model; 'qrow list' shows what is there", store.path());
  return resolved;
}

}  // namespace qrow
