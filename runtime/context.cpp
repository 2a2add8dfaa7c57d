#include "runtime/context.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "runtime/case.hpp"
#include "runtime/hit_table.hpp"
#include "runtime/kernel_loader.hpp"
#include "runtime/picker.hpp"
#include "runtime/public_spec.hpp"

namespace qrow {

struct Context::State {
  explicit State(const ContextOptions& options)
      : log(options.provider.log), provider(options.provider) {}

  const Log log;
  KernelProvider provider;
  std::vector<const Arch*>
      archs;  // that the device can load, best first; the one asked for, offline
  std::optional<DeviceInfo> device;
  std::shared_ptr<LaunchTarget> target;
  std::unique_ptr<KernelLoader> loader;
  std::unique_ptr<Picker> picker;
  HitTable hits;

  std::mutex mutex;  // of writes to `hits`, and of `geometries`
  std::vector<std::pair<Spec, std::vector<Geometry>>> geometries;

  void open_device(int ordinal);
  const std::vector<Geometry>& geometries_of(const Spec& spec);
  std::unique_ptr<const Plan> plan_for(const Spec& spec, const PlanWorkload& workload);
  std::unique_ptr<const Plan> plan_for_all(const Spec& spec);
  const Pick& missed(SpecPicks& known, const Bucket& bucket, CUstream stream);
};

void Context::State::open_device(int ordinal) {
  const Driver& driver = Driver::get();
  device = query_device(driver, ordinal == QROW_DEVICE_CURRENT ? current_device(driver) : ordinal);
  archs = loadable_archs(device->major, device->minor);
  if (archs.empty()) {
    fail(Status::no_device,
         "device {} ({}) has compute capability {}.{}: qrow has kernels from 8.0", device->ordinal,
         device->name, device->major, device->minor);
  }
  target = std::make_shared<LaunchTarget>();
  target->driver = &driver;
  target->num_sms = device->num_sms;
  loader = std::make_unique<KernelLoader>(driver, device->ordinal, provider);
  picker = std::make_unique<Picker>(*loader, archs, device->num_sms, provider.cache_only());
}

Context::Context(const ContextOptions& options) {
  const bool offline = options.device == QROW_DEVICE_NONE;
  if (!offline && options.device < QROW_DEVICE_CURRENT) {
    fail(Status::invalid_argument,
         "device is {}: give an ordinal, QROW_DEVICE_CURRENT (-1) or QROW_DEVICE_NONE (-2)",
         options.device);
  }
  if (offline == options.arch.empty()) {
    fail(Status::invalid_argument, "{}",
         offline ? "QROW_DEVICE_NONE needs an arch to compile for, such as sm_90a"
                 : "an arch goes with QROW_DEVICE_NONE alone: a device has its own");
  }
  state_ = std::make_unique<State>(options);
  if (offline) {
    state_->archs = {&arch_by_name(options.arch)};
  } else {
    state_->open_device(options.device);
  }
}

Context::~Context() = default;

bool Context::offline() const { return !state_->device.has_value(); }
const Arch& Context::arch() const { return *state_->archs.front(); }
const Log& Context::log() const { return state_->log; }
KernelProvider& Context::provider() { return state_->provider; }

const DeviceInfo& Context::device() const {
  if (offline()) {
    fail(Status::no_device,
         "this context is offline (QROW_DEVICE_NONE): it can be asked and can compile, but has no "
         "device to run on");
  }
  return *state_->device;
}

Support Context::can_run(const Spec& spec) const {
  std::string reasons;
  for (const Verdict& verdict : ask_families(spec, arch(), bucket_of(spec, 0, 0, 0, 0))) {
    if (verdict.support) return Support::yes();
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", verdict.family->name(),
                           verdict.support.reason);
  }
  return Support::no("{}", reasons);
}

std::unique_ptr<const Plan> Context::make_plan(const Spec& spec, const PlanWorkload* workload) {
  if (offline()) {  // what is wrong with the request comes before what this context lacks
    const PlanWorkload w = workload != nullptr ? *workload : PlanWorkload{};
    choose(spec, arch(), bucket_of(spec, w.batch, w.max_kv_len, w.rows, w.window), w.family,
           w.tuning);
  }
  device();
  state_->loader->check_current_context();
  return workload != nullptr ? state_->plan_for(spec, *workload) : state_->plan_for_all(spec);
}

std::unique_ptr<const Plan> Context::State::plan_for(const Spec& spec,
                                                     const PlanWorkload& workload) {
  const PickRequest request{
      spec, bucket_of(spec, workload.batch, workload.max_kv_len, workload.rows, workload.window),
      workload.family, workload.tuning};
  std::shared_ptr<const Pick> pick;
  if (loader->capture_in_progress()) {
    pick = picker->pick_loaded(request);
    if (pick == nullptr) picker->refuse_under_capture(request);
  } else {
    pick = picker->pick(request);
  }
  if (workload.splits > 1 && !pick->launch.geometry.splits_kv) {
    fail(Status::unsupported, "{} KV splits were forced, but family {} does not split",
         workload.splits, pick->choice.family->name());
  }
  return std::make_unique<const Plan>(spec, target, std::vector{std::move(pick)}, workload.splits,
                                      0);
}

std::unique_ptr<const Plan> Context::State::plan_for_all(const Spec& spec) {
  if (loader->capture_in_progress()) {
    for (const Bucket& bucket : all_buckets(spec)) {
      const PickRequest request{spec, bucket, "", ""};
      if (picker->pick_loaded(request) == nullptr) picker->refuse_under_capture(request);
    }
  }
  const std::size_t described = bucket_index(bucket_of(spec, 1, Bucket{}.kv_len, spec.max_rows, 0));
  return std::make_unique<const Plan>(spec, target, picker->pick_all(spec), 0, described);
}

const std::vector<Geometry>& Context::State::geometries_of(const Spec& spec) {
  for (const auto& [known, list] : geometries) {
    if (known == spec) return list;
  }
  return geometries.emplace_back(spec, serving_geometries(spec, archs)).second;
}

std::size_t Context::workspace_bytes(const Spec& spec, int batch, long long max_kv_len) const {
  const DeviceInfo& info = device();
  std::lock_guard lock(state_->mutex);
  return workspace_bytes_over(state_->geometries_of(spec),
                              {info.num_sms, spec.num_kv_heads, batch, max_kv_len, 0, 0});
}

void Context::decode(const qrow_spec& raw, const qrow_args& args, void* workspace,
                     std::size_t workspace_bytes, CUstream stream) {
  SpecPicks* known = state_->hits.find(raw);
  if (known == nullptr) {
    device();
    const Spec spec = to_spec(raw);
    check_args(spec, args);  // a wrong argument is told before anything compiles
    choose(
        spec, arch(),
        bucket_of(spec, args.batch, args.max_kv_len, args.rows, args.window));  // or says why not
    std::lock_guard lock(state_->mutex);
    known = &state_->hits.add(raw, spec);
  }
  const CheckedArgs checked = check_args(known->spec(), args);
  if (args.batch == 0) return;
  const Bucket bucket =
      bucket_of(known->spec(), args.batch, args.max_kv_len, checked.rows, args.window);
  const Pick* pick = known->at(bucket_index(bucket));
  if (pick == nullptr) pick = &state_->missed(*known, bucket, stream);
  run(*state_->target, known->spec(), pick->launch, checked, 0, workspace, workspace_bytes, stream);
}

// The slow half of decode: makes the pick of this call's bucket. Several threads may make the same
// one; the kernels behind it are made once.
const Pick& Context::State::missed(SpecPicks& known, const Bucket& bucket, CUstream stream) {
  const PickRequest request{known.spec(), bucket, "", ""};
  std::shared_ptr<const Pick> pick;
  if (loader->is_capturing(stream)) {
    pick = picker->pick_loaded(request);
    if (pick == nullptr) {
      // A change of bucket must not break a capture: what this spec ran with before computes the
      // same.
      if (const Pick* other = known.nearest(bucket)) return *other;
      picker->refuse_under_capture(request);
    }
  } else {
    loader->check_current_context();
    pick = picker->pick(request);
  }
  std::lock_guard lock(mutex);
  return known.publish(bucket_index(bucket), std::move(pick));
}

qrow_stats Context::stats() const {
  const ProviderCounts& counts = state_->provider.counts();
  qrow_stats stats{};
  stats.memory_hits = counts.memory_hits;
  stats.seed_hits = counts.seed_hits;
  stats.user_hits = counts.user_hits;
  stats.compiles = counts.compiles;
  stats.compile_failures = counts.compile_failures;
  stats.not_cached = counts.not_cached;
  stats.miss_new_key = counts.miss_new_key;
  stats.miss_corrupt = counts.miss_corrupt;
  stats.miss_refused_by_driver = counts.miss_refused_by_driver;
  stats.miss_cache_unavailable = counts.miss_cache_unavailable;
  stats.cache_errors = counts.cache_errors;
  stats.compile_seconds = static_cast<double>(counts.compile_microseconds) * 1e-6;
  if (offline()) return stats;
  stats.cubin_bytes_loaded = state_->loader->cubin_bytes_loaded();
  stats.load_seconds = state_->loader->load_seconds();
  stats.launches = state_->target->launches;
  return stats;
}

}  // namespace qrow
