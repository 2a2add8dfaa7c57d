// The C API: version, errors, specs, contexts.
#include "runtime/c_api.hpp"

#include "runtime/case.hpp"
#include "runtime/public_spec.hpp"
#include "templates/sources.hpp"

namespace qrow {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

std::string build_info() {
  std::string all;
  for (const SourceFile& file : template_sources())
    all += fmt::format("{} {}\n", file.path, digest_of(file.text).hex());
  return fmt::format("qrow {}.{}.{}, {}, templates {}", QROW_VERSION_MAJOR, QROW_VERSION_MINOR,
                     QROW_VERSION_PATCH, kCompiler, digest_of(all).hex());
}

int within(const char* field, int value, int last) {
  if (value < 0 || value > last)
    fail(Status::invalid_argument, "{} is {}: the values are 0 to {} (qrow.h)", field, value, last);
  return value;
}

ContextOptions to_options(const qrow_context_options& o) {
  ContextOptions options;
  options.device = o.device;
  options.arch = text_or_empty(o.arch);
  ProviderOptions& provider = options.provider;
  provider.cache_path = text_or_empty(o.cache_path);
  provider.seed_paths = texts(o.seed_paths, o.num_seed_paths, "seed_paths");
  provider.cache_only = within("jit_mode", o.jit_mode, QROW_JIT_CACHE_ONLY) == QROW_JIT_CACHE_ONLY;
  const int cache_mode = within("cache_mode", o.cache_mode, QROW_CACHE_OFF);
  provider.cache_off = cache_mode == QROW_CACHE_OFF;
  provider.read_only = cache_mode == QROW_CACHE_READ_ONLY;
  at_least_zero("compile_deadline_ms", o.compile_deadline_ms);
  at_least_zero("compile_threads", o.compile_threads);
  at_least_zero("tune_budget_ms", o.tune_budget_ms);
  provider.compile_deadline_ms = o.compile_deadline_ms;
  provider.log = log_of(o.log_level, o.log_callback, o.log_user);
  if (within("tune_mode", o.tune_mode, QROW_TUNE_OFF) == QROW_TUNE_FIRST_USE) {
    fail(Status::unsupported, "tune_mode first_use is not built yet: use lookup, the default");
  }
  return options;
}

qrow_workload to_workload(const Case& c) {
  qrow_workload workload{};
  workload.struct_size = sizeof(workload);
  workload.batch = c.batch;
  for (const int rows : c.ragged) workload.rows = std::max(workload.rows, rows);
  workload.max_kv_len = c.max_len();
  workload.window = c.window;
  workload.splits = c.splits;
  workload.family = c.family.empty() ? nullptr : c.family.c_str();
  workload.tuning = c.tuning.empty() ? nullptr : c.tuning.c_str();
  return workload;
}

}  // namespace
}  // namespace qrow

using namespace qrow;

extern "C" {

uint32_t qrow_version(void) {
  return QROW_VERSION_MAJOR * 10000 + QROW_VERSION_MINOR * 100 + QROW_VERSION_PATCH;
}

const char* qrow_build_info(void) {
  try {
    static const std::string text = build_info();
    return text.c_str();
  } catch (...) {
    return "qrow";
  }
}

const char* qrow_status_name(qrow_status status) {
  return status_name(static_cast<Status>(status));
}

qrow_status qrow_spec_parse(const char* line, qrow_spec* spec, qrow_workload* workload) {
  return guarded([&] {
    thread_local Case parsed;  // owns the strings of the workload
    parsed = parse_case(&require_pointer(line, "line"));
    if (workload != nullptr) check_result(workload, "workload");
    hand_out(spec, "spec", from_spec(parsed.spec));
    if (workload != nullptr) hand_out(workload, "workload", to_workload(parsed));
  });
}

qrow_status qrow_spec_format(const qrow_spec* spec, char* line, size_t line_bytes) {
  return guarded([&] {
    if (line == nullptr || line_bytes == 0)
      fail(Status::invalid_argument, "line is null or has no bytes: it is required");
    line[0] = '\0';
    qrow_spec storage;
    const std::string text = format_spec(to_spec(whole(spec, "spec", storage)));
    copy_text(text, line, line_bytes);
    if (text.size() >= line_bytes) {
      fail(Status::invalid_argument, "the case line needs {} bytes with its end, {} were given",
           text.size() + 1, line_bytes);
    }
  });
}

qrow_status qrow_context_options_init(qrow_context_options* options) {
  return guarded([&] {
    require_pointer(options, "options") = qrow_context_options{};
    options->struct_size = sizeof(*options);
    options->device = QROW_DEVICE_CURRENT;
  });
}

qrow_status qrow_context_create(const qrow_context_options* options, qrow_context** context) {
  return guarded([&] {
    require_pointer(context, "context") = nullptr;
    qrow_context_options storage{};
    storage.struct_size = sizeof(storage);
    storage.device = QROW_DEVICE_CURRENT;
    const qrow_context_options& known =
        options != nullptr ? whole(options, "options", storage) : storage;
    *context = new qrow_context(to_options(known));
  });
}

void qrow_context_destroy(qrow_context* context) { delete context; }

qrow_status qrow_can_run(qrow_context* context, const qrow_spec* spec, char* reason,
                         size_t reason_bytes) {
  copy_text("", reason, reason_bytes);
  return guarded([&] {
    qrow_spec storage;
    const Spec known = to_spec(whole(spec, "spec", storage));
    const Context& c = require_pointer(context, "context").context;
    const Support support = c.can_run(known);
    if (support) return;
    copy_text(support.reason, reason, reason_bytes);
    fail(Status::unsupported, "no kernel family can run '{}' on {}: {}", format_spec(known),
         c.arch().name, support.reason);
  });
}

qrow_status qrow_stats_get(qrow_context* context, qrow_stats* stats) {
  return guarded(
      [&] { hand_out(stats, "stats", require_pointer(context, "context").context.stats()); });
}

}  // extern "C"
