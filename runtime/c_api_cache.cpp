// The C API: prewarm, tuning and whole cache files.
#include <atomic>

#include "cache/cache_path.hpp"
#include "cache/export.hpp"
#include "runtime/base/file.hpp"
#include "runtime/c_api.hpp"
#include "runtime/prewarm.hpp"
#include "runtime/public_spec.hpp"

namespace qrow {
namespace {

ProviderOptions to_options(const qrow_prewarm_options& o) {
  ProviderOptions options;
  options.cache_path = text_or_empty(o.cache_path);
  options.seed_paths = texts(o.seed_paths, o.num_seed_paths, "seed_paths");
  at_least_zero("compile_deadline_ms", o.compile_deadline_ms);
  at_least_zero("compile_threads", o.compile_threads);
  options.compile_deadline_ms = o.compile_deadline_ms;
  options.log = log_of(0, o.log_callback, o.log_user);
  return options;
}

// The elements lie as far apart as the caller's version of the struct is large.
std::vector<Case> to_cases(const qrow_spec* specs, std::size_t count) {
  std::vector<Case> cases;
  if (count == 0) return cases;
  require_pointer(specs, "specs");
  const std::size_t step = specs->struct_size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(specs);
  for (std::size_t i = 0; i < count; ++i) {
    qrow_spec storage;
    Case c;
    c.spec = to_spec(whole(reinterpret_cast<const qrow_spec*>(bytes + i * step), "specs", storage));
    cases.push_back(std::move(c));
  }
  return cases;
}

qrow_prewarm_item to_item(const PrewarmOutcome& outcome, const std::string& key) {
  qrow_prewarm_item item{};
  item.struct_size = sizeof(item);
  item.index = outcome.index;
  item.count = outcome.count;
  item.status = static_cast<int>(outcome.status);
  item.source = outcome.status == Status::ok ? static_cast<int>(outcome.source) : 0;
  item.registers = outcome.registers;
  item.spill_bytes = outcome.spill_bytes;
  item.stack_bytes = outcome.stack_bytes;
  item.smem_bytes = outcome.smem_bytes;
  item.cubin_bytes = outcome.cubin_bytes;
  item.compile_ms = outcome.compile_ms;
  item.case_line = outcome.item->case_line.c_str();
  item.key = key.c_str();
  item.arch = outcome.item->arch->name;
  item.family = outcome.item->family.c_str();
  item.message = outcome.message.c_str();
  return item;
}

qrow_prewarm_report to_report(const PrewarmTotals& totals) {
  qrow_prewarm_report report{};
  report.items = totals.items;
  report.compiled = totals.compiled;
  report.hits = totals.hits;
  report.memory = totals.memory;
  report.failed = totals.failed;
  report.seconds = totals.seconds;
  report.cubin_bytes = totals.cubin_bytes;
  return report;
}

enum class Opening { existing, to_make, to_repair };

// A mistyped path must not become an empty cache, nor may a file that never was a cache be set
// aside as a damaged one.
std::unique_ptr<KernelStore> open_store(const char* cache_path, Opening opening) {
  StoreOptions options;
  options.path = cache_path_or_default(text_or_empty(cache_path));
  options.log = log_of(0, nullptr, nullptr);
  const std::string file = resolve_cache_path(options.path);
  if (opening != Opening::to_make && !file.empty() && !file_exists(file))
    fail(Status::cache, "there is no cache file '{}': give the path of one", file);
  if (opening != Opening::to_repair) {
    if (const Support cache = begins_like_cache(file); !cache)
      fail(Status::cache, "{}: give another path", cache.reason);
  }
  return KernelStore::open(options, true);
}

// Does `work` if its result can be handed out: nothing is done that the caller is then told has
// failed.
template <typename Work>
qrow_status reported(qrow_cache_report* to, const Work& work) {
  return guarded([&] {
    if (to != nullptr) check_result(to, "report");
    const CacheReport from = work();
    if (to == nullptr) return;
    qrow_cache_report report{};
    report.kernels = from.kernels;
    report.tunings = from.tunings;
    report.bad = from.bad;
    report.bytes = from.bytes;
    hand_out(to, "report", report);
  });
}

}  // namespace
}  // namespace qrow

using namespace qrow;

extern "C" {

qrow_status qrow_prewarm(const qrow_prewarm_options* options, const qrow_spec* specs,
                         size_t num_specs, qrow_prewarm_callback callback, void* user,
                         qrow_prewarm_report* report) {
  return guarded([&] {
    qrow_prewarm_options storage;
    const qrow_prewarm_options& known = whole(options, "options", storage);
    std::vector<const Arch*> archs;
    for (const std::string& name : texts(known.archs, known.num_archs, "archs"))
      archs.push_back(&arch_by_name(name));
    if (archs.empty())
      fail(Status::invalid_argument,
           "num_archs is 0: name at least one arch to compile for, such as sm_90a");
    if (report != nullptr) check_result(report, "report");
    const ProviderOptions provider_options = to_options(known);
    const std::vector<PrewarmItem> items = list_prewarm(to_cases(specs, num_specs), archs);
    std::atomic<bool> cancel{false};
    PrewarmRun run;
    run.threads = known.compile_threads;
    run.refresh = known.refresh != 0;
    run.cancel = &cancel;
    if (callback != nullptr) {
      run.on_item = [&](const PrewarmOutcome& outcome) {
        const std::string key = outcome.item->refusal.empty() ? outcome.item->key.digest.hex() : "";
        const qrow_prewarm_item item = to_item(outcome, key);
        if (callback(user, &item) != 0) cancel = true;
      };
    }
    KernelProvider provider(provider_options);
    const PrewarmTotals totals = prewarm(provider, items, run);
    if (report != nullptr) hand_out(report, "report", to_report(totals));
    if (totals.first_failure != Status::ok) throw Error(totals.first_failure, totals.first_message);
    if (totals.cancelled)
      fail(Status::cancelled, "the callback cancelled the prewarm; what was made is kept");
  });
}

qrow_status qrow_tune(qrow_context*, const qrow_spec*, const qrow_workload*,
                      const qrow_tune_options*, qrow_tune_result*) {
  return guarded([] {
    fail(Status::unsupported, "the tuner is not built yet: the built-in defaults are used");
  });
}

qrow_status qrow_cache_export(const char* cache_path, const char* file, const char* arch,
                              qrow_cache_report* report) {
  return reported(report, [&] {
    require_pointer(file, "file");
    ExportFilter filter;
    if (arch != nullptr) filter.arch = arch_by_name(arch).name;
    return export_cache(*open_store(cache_path, Opening::existing), file, filter);
  });
}

qrow_status qrow_cache_import(const char* cache_path, const char* file, qrow_cache_report* report) {
  return reported(report, [&] {
    require_pointer(file, "file");
    return import_cache(*open_store(cache_path, Opening::to_make), file);
  });
}

qrow_status qrow_cache_merge(const char* out_file, const char* const* files, int32_t num_files,
                             qrow_cache_report* report) {
  return reported(report, [&] {
    require_pointer(out_file, "out_file");
    return merge_caches(out_file, texts(files, num_files, "files"));
  });
}

qrow_status qrow_cache_verify(const char* cache_path, int32_t repair, qrow_cache_report* report) {
  return reported(report, [&] {
    const Opening opening = repair != 0 ? Opening::to_repair : Opening::existing;
    return verify_cache(*open_store(cache_path, opening), repair != 0);
  });
}

qrow_status qrow_cache_clear(const char* cache_path, qrow_cache_report* report) {
  return reported(report, [&] { return clear_cache(*open_store(cache_path, Opening::existing)); });
}

}  // extern "C"
