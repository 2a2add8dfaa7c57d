// Values that no version can mean are refused by every function that takes them, with their name.
#include <doctest/doctest.h>
#include <qrow/qrow.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace {

bool said(const std::string& part) {
  const bool found = std::string(qrow_last_error()).find(part) != std::string::npos;
  if (!found) MESSAGE(std::string(qrow_last_error()));
  return found;
}

qrow_context* offline_context() {
  qrow_context_options options;
  qrow_context_options_init(&options);
  options.device = QROW_DEVICE_NONE;
  options.arch = "sm_90a";
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = nullptr;
  REQUIRE(qrow_context_create(&options, &context) == QROW_STATUS_OK);
  return context;
}

qrow_spec spec_of(const char* line) {
  qrow_spec spec{};
  spec.struct_size = sizeof(spec);
  REQUIRE(qrow_spec_parse(line, &spec, nullptr) == QROW_STATUS_OK);
  return spec;
}

}  // namespace

TEST_CASE("an absurd struct_size is refused by every function and nothing is read beyond it") {
  qrow_context* context = offline_context();
  const qrow_spec good = spec_of("heads=8/8");
  for (const std::uint32_t size : {4097u, 1u << 30, 0xffffffffu}) {
    qrow_spec spec = good;
    qrow_workload workload{};
    qrow_context_options options{};
    qrow_prewarm_options prewarm{};
    qrow_prewarm_report report{};
    qrow_cache_report cache_report{};
    qrow_stats stats{};
    const char* archs[] = {"sm_90a"};
    spec.struct_size = workload.struct_size = options.struct_size = report.struct_size =
        cache_report.struct_size = stats.struct_size = size;
    prewarm.struct_size = sizeof(prewarm);
    prewarm.archs = archs;
    prewarm.num_archs = 1;
    qrow_prewarm_options large = prewarm;
    large.struct_size = size;
    char text[100];
    qrow_spec parsed = good;
    qrow_plan* plan = nullptr;
    qrow_context* made = nullptr;
    std::size_t bytes = 0;
    qrow_args args{};
    args.struct_size = sizeof(args);
    const std::pair<const char*, std::function<qrow_status()>> calls[] = {
        {"spec", [&] { return qrow_spec_format(&spec, text, sizeof(text)); }},
        {"spec", [&] { return qrow_spec_parse("heads=8/8", &spec, nullptr); }},
        {"workload", [&] { return qrow_spec_parse("heads=8/8", &parsed, &workload); }},
        {"options", [&] { return qrow_context_create(&options, &made); }},
        {"spec", [&] { return qrow_can_run(context, &spec, text, sizeof(text)); }},
        {"spec", [&] { return qrow_plan_create(context, &spec, nullptr, &plan); }},
        {"workload", [&] { return qrow_plan_create(context, &good, &workload, &plan); }},
        {"spec", [&] { return qrow_workspace_bytes(context, &spec, 1, 1, &bytes); }},
        {"spec", [&] { return qrow_decode(context, &spec, &args, nullptr, 0, nullptr); }},
        {"args",
         [&] {
           qrow_args given{};
           given.struct_size = size;
           return qrow_decode(context, &good, &given, nullptr, 0, nullptr);
         }},
        {"stats", [&] { return qrow_stats_get(context, &stats); }},
        {"options", [&] { return qrow_prewarm(&large, &good, 1, nullptr, nullptr, nullptr); }},
        {"specs", [&] { return qrow_prewarm(&prewarm, &spec, 1, nullptr, nullptr, nullptr); }},
        {"report", [&] { return qrow_prewarm(&prewarm, &good, 1, nullptr, nullptr, &report); }},
        {"report", [&] { return qrow_cache_export("/no", "/no", nullptr, &cache_report); }},
        {"report", [&] { return qrow_cache_import("/no", "/no", &cache_report); }},
        {"report", [&] { return qrow_cache_merge("/no", archs, 1, &cache_report); }},
        {"report", [&] { return qrow_cache_verify("/no", 0, &cache_report); }},
        {"report", [&] { return qrow_cache_clear("/no", &cache_report); }}};
    for (const auto& [name, call] : calls) {
      CHECK(call() == QROW_STATUS_INVALID_ARGUMENT);
      CHECK(said(std::string(name) + "->struct_size is " + std::to_string(size)));
      CHECK(said("4096 bytes at most"));
    }
    CHECK(parsed.num_q_heads == 8);
  }
  qrow_context_destroy(context);
}

TEST_CASE("negative numbers in the options are refused, naming the field") {
  const std::pair<const char*, std::int32_t qrow_context_options::*> fields[] = {
      {"tune_budget_ms", &qrow_context_options::tune_budget_ms},
      {"compile_threads", &qrow_context_options::compile_threads},
      {"compile_deadline_ms", &qrow_context_options::compile_deadline_ms},
      {"num_seed_paths", &qrow_context_options::num_seed_paths},
      {"jit_mode", &qrow_context_options::jit_mode},
      {"tune_mode", &qrow_context_options::tune_mode},
      {"cache_mode", &qrow_context_options::cache_mode},
      {"log_level", &qrow_context_options::log_level}};
  for (const auto& [name, field] : fields) {
    qrow_context_options options;
    qrow_context_options_init(&options);
    options.device = QROW_DEVICE_NONE;
    options.arch = "sm_90a";
    options.*field = -1;
    qrow_context* context = nullptr;
    CHECK(qrow_context_create(&options, &context) == QROW_STATUS_INVALID_ARGUMENT);
    CHECK(said(std::string(name) + " is -1"));
  }
  const qrow_spec spec = spec_of("heads=8/8");
  const char* archs[] = {"sm_90a"};
  const std::pair<const char*, std::int32_t qrow_prewarm_options::*> more[] = {
      {"compile_threads", &qrow_prewarm_options::compile_threads},
      {"compile_deadline_ms", &qrow_prewarm_options::compile_deadline_ms},
      {"num_seed_paths", &qrow_prewarm_options::num_seed_paths},
      {"num_archs", &qrow_prewarm_options::num_archs}};
  for (const auto& [name, field] : more) {
    qrow_prewarm_options options{};
    options.struct_size = sizeof(options);
    options.archs = archs;
    options.num_archs = 1;
    options.*field = -1;
    CHECK(qrow_prewarm(&options, &spec, 1, nullptr, nullptr, nullptr) ==
          QROW_STATUS_INVALID_ARGUMENT);
    CHECK(said(std::string(name) + " is -1"));
  }
}

TEST_CASE("an offline plan tells what is wrong with the request before what the context lacks") {
  qrow_context* context = offline_context();
  qrow_plan* plan = nullptr;
  qrow_workload workload{};
  workload.struct_size = sizeof(workload);
  const qrow_spec spec = spec_of("heads=8/8"), refused = spec_of("heads=8/8 mask=tree");
  workload.family = "nonsense";
  CHECK(qrow_plan_create(context, &spec, &workload, &plan) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(said("family 'nonsense' was asked for; the attention families are: decode_mma"));
  workload.family = nullptr;
  workload.tuning = "nonsense:1";
  CHECK(qrow_plan_create(context, &spec, &workload, &plan) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(said("nonsense"));
  workload.tuning = nullptr;
  workload.window = 100;
  CHECK(qrow_plan_create(context, &spec, &workload, &plan) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(said("workload.window is 100, but spec.window is off"));
  CHECK(qrow_plan_create(context, &refused, nullptr, &plan) == QROW_STATUS_UNSUPPORTED);
  CHECK(qrow_plan_create(context, &spec, nullptr, &plan) == QROW_STATUS_NO_DEVICE);
  qrow_context_destroy(context);
}
