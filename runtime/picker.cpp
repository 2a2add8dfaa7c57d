#include "runtime/picker.hpp"

#include <algorithm>
#include <utility>

#include "runtime/case.hpp"

namespace qrow {
namespace {

// The case that prewarms this very kernel.
std::string case_line_of(const PickRequest& request) {
  Case c;
  c.spec = request.spec;
  c.family = request.family;
  c.tuning = request.tuning;
  return format_case(c);
}

bool same_geometry(const Geometry& a, const Geometry& b) {
  return a.blocks_per_sm == b.blocks_per_sm && a.column_tiles == b.column_tiles &&
         a.columns_per_tile == b.columns_per_tile && a.head_dim_v == b.head_dim_v &&
         a.step_tokens == b.step_tokens && a.splits_kv == b.splits_kv;
}

KernelLaunch launch_of(const LoadedKernel& kernel, const Variant& variant) {
  return {kernel.module, variant.threads, variant.smem_bytes};
}

}  // namespace

// The best arch's default, unless its kernels would have to be compiled and those of another arch
// that this device loads lie ready (a cache filled for sm_80 on a device that prefers sm_86).
Picker::Candidate Picker::candidate(const PickRequest& request) {
  Candidate best;
  for (const Arch* arch : archs_) {
    if (best.arch != nullptr && is_made(request.spec, best)) break;
    Candidate next{arch,
                   choose(request.spec, *arch, request.bucket, request.family, request.tuning)};
    if (best.arch == nullptr || is_made(request.spec, next)) best = std::move(next);
  }
  return best;
}

bool Picker::is_made(const Spec& spec, const Candidate& candidate) {
  const std::vector<Variant> variants = variants_of(spec, candidate.choice, *candidate.arch);
  return std::ranges::all_of(variants, [this](const Variant& variant) {
    return loader_.find(variant).has_value() || loader_.provider().peek(variant) != nullptr;
  });
}

// Where nothing may be compiled, the nearest bucket's pick whose kernels are there computes the
// same, perhaps slower.
bool Picker::find_stand_in(const PickRequest& request, Candidate& candidate) {
  std::vector<Bucket> buckets = all_buckets(request.spec);
  std::ranges::stable_sort(buckets, {},
                           [&](const Bucket& bucket) { return distance(bucket, request.bucket); });
  std::vector<Choice> asked{candidate.choice};
  for (const Bucket& bucket : buckets) {
    Candidate next{candidate.arch, choose(request.spec, *candidate.arch, bucket)};
    if (std::ranges::any_of(
            asked, [&](const Choice& choice) { return same_kernels(choice, next.choice); }))
      continue;
    asked.push_back(next.choice);
    if (!is_made(request.spec, next)) continue;
    next.choice.source = TuningSource::nearest;
    candidate = std::move(next);
    return true;
  }
  return false;
}

std::shared_ptr<const Pick> Picker::make(const PickRequest& request, const Candidate& candidate) {
  const Spec& spec = request.spec;
  const Arch& arch = *candidate.arch;
  const std::string line = case_line_of(request);
  auto pick = std::make_shared<Pick>();
  pick->choice = candidate.choice;
  pick->arch = &arch;
  pick->tuning_text = format_tuning(*candidate.choice.family, candidate.choice.tuning);
  const Variant attention = candidate.choice.family->variant(spec, candidate.choice.tuning, arch);
  const LoadedKernel kernel = loader_.get(attention, line);
  const KernelRow& row = kernel.cubin->row;
  pick->launch.attention = launch_of(kernel, attention);
  pick->launch.geometry = candidate.choice.family->geometry(spec, candidate.choice.tuning, arch);
  pick->launch.programmatic_launch = arch.programmatic_launch != 0;
  pick->key_hex = kernel.cubin->key.digest.hex();
  pick->source = kernel.source;
  pick->registers = row.registers;
  pick->spill_bytes = row.spill_bytes;
  pick->stack_bytes = row.stack_bytes;
  pick->smem_bytes = row.smem_bytes;
  pick->launch.heads_abreast = heads_abreast_on(pick->launch.geometry, num_sms_, spec.num_kv_heads);
  if (const Family* combine = candidate.choice.combine) {
    const Variant merging = combine->variant(spec, candidate.choice.combine_tuning, arch);
    pick->launch.combine = launch_of(loader_.get(merging, line), merging);
    pick->launch.combine_geometry = combine->geometry(spec, candidate.choice.combine_tuning, arch);
  }
  return pick;
}

std::shared_ptr<const Pick> Picker::pick(const PickRequest& request) {
  Candidate chosen = candidate(request);
  const bool forced = chosen.choice.source == TuningSource::forced;
  if (cache_only_ && !forced && !is_made(request.spec, chosen) && find_stand_in(request, chosen)) {
    loader_.provider().log()(
        LogLevel::info, "'{}' is served by {} ({}): the default's kernels are not in the cache",
        case_line_of(request), chosen.choice.family->name(),
        format_tuning(*chosen.choice.family, chosen.choice.tuning));
  }
  return make(request, chosen);
}

std::shared_ptr<const Pick> Picker::pick_loaded(const PickRequest& request) {
  for (const Arch* arch : archs_) {
    const Candidate next{
        arch, choose(request.spec, *arch, request.bucket, request.family, request.tuning)};
    const std::vector<Variant> variants = variants_of(request.spec, next.choice, *arch);
    if (std::ranges::all_of(variants,
                            [this](const Variant& v) { return loader_.find(v).has_value(); }))
      return make(request, next);
  }
  return nullptr;
}

void Picker::refuse_under_capture(const PickRequest& request) {
  const Arch& arch = *archs_.front();
  const Choice choice = choose(request.spec, arch, request.bucket, request.family, request.tuning);
  for (const Variant& variant : variants_of(request.spec, choice, arch)) {
    if (loader_.find(variant)) continue;
    loader_.provider().refuse(
        variant, case_line_of(request),
        "is not loaded, and nothing may be compiled or loaded while the stream is captured");
  }
  fail(Status::internal, "a kernel was missing under stream capture and is there now");
}

std::vector<std::shared_ptr<const Pick>> Picker::pick_all(const Spec& spec) {
  std::vector<std::pair<Choice, std::shared_ptr<const Pick>>> made;
  std::vector<std::shared_ptr<const Pick>> picks;
  for (const Bucket& bucket : all_buckets(spec)) {
    const Choice choice = choose(spec, *archs_.front(), bucket);
    auto known = std::ranges::find_if(
        made, [&](const auto& entry) { return same_kernels(entry.first, choice); });
    if (known == made.end())
      known = made.insert(made.end(), {choice, pick({spec, bucket, "", ""})});
    picks.push_back(known->second);
  }
  return picks;
}

std::vector<Geometry> serving_geometries(const Spec& spec, const std::vector<const Arch*>& archs) {
  std::vector<Geometry> geometries;
  for (const Arch* arch : archs) {
    for (const Bucket& bucket : all_buckets(spec)) {
      for (const Verdict& verdict : ask_families(spec, *arch, bucket)) {
        if (!verdict.support) continue;
        const Geometry g = verdict.family->geometry(
            spec, verdict.family->default_tuning(spec, *arch, bucket), *arch);
        if (std::ranges::none_of(geometries,
                                 [&](const Geometry& known) { return same_geometry(known, g); }))
          geometries.push_back(g);
      }
    }
  }
  if (geometries.empty()) choose(spec, *archs.front(), bucket_of(spec, 0, 0, 0, 0));  // says why
  return geometries;
}

}  // namespace qrow
