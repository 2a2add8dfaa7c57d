// Callers of other versions: smaller structs mean defaults for the rest, larger ones must not set
// what is unknown here.
#include <doctest/doctest.h>

#include <qrow/qrow.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

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

template <typename T>
struct Larger {
  T known;
  std::uint64_t unknown;
};

}  // namespace

TEST_CASE("the sizes of the first version stay: later fields are added at the end") {
  CHECK(sizeof(qrow_spec) >= 72);
  CHECK(sizeof(qrow_workload) >= 56);
  CHECK(sizeof(qrow_context_options) >= 80);
  CHECK(sizeof(qrow_args) >= 384);
  CHECK(offsetof(qrow_spec, numerics) == 68);
  CHECK(offsetof(qrow_workload, tuning) == 48);
  CHECK(offsetof(qrow_context_options, log_user) == 72);
  CHECK(offsetof(qrow_args, device_status) == 376);
  CHECK(offsetof(qrow_plan_info, arch) == 64);
  CHECK(offsetof(qrow_stats, load_seconds) == 120);
}

TEST_CASE("a smaller spec means defaults for the fields that it lacks") {
  qrow_spec spec;
  std::memset(&spec, 0x7f, sizeof(spec));  // beyond struct_size nothing is read
  spec.struct_size = offsetof(qrow_spec, head_dim);
  spec.num_q_heads = 64;
  spec.num_kv_heads = 8;
  char line[100];
  REQUIRE(qrow_spec_format(&spec, line, sizeof(line)) == QROW_STATUS_OK);
  CHECK(std::string(line) == "heads=64/8");
}

TEST_CASE("a larger spec is accepted while its unknown fields are 0") {
  Larger<qrow_spec> larger{};
  larger.known.struct_size = sizeof(larger);
  larger.known.num_q_heads = 64;
  larger.known.num_kv_heads = 8;
  char line[100];
  CHECK(qrow_spec_format(&larger.known, line, sizeof(line)) == QROW_STATUS_OK);
  larger.unknown = 1;
  CHECK(qrow_spec_format(&larger.known, line, sizeof(line)) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(qrow_last_error()).find("newer libqrow") != std::string::npos);
}

TEST_CASE("a struct without its size is refused with what to do") {
  qrow_spec spec{};
  char line[100];
  CHECK(qrow_spec_format(&spec, line, sizeof(line)) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(qrow_last_error()).find("sizeof(*spec)") != std::string::npos);
}

TEST_CASE("a smaller options struct means defaults for the rest") {
  qrow_context_options options;
  std::memset(&options, 0x7f, sizeof(options));
  options.struct_size = offsetof(qrow_context_options, jit_mode);
  options.device = QROW_DEVICE_NONE;
  options.arch = "sm_90a";
  qrow_context* context = nullptr;
  CHECK(qrow_context_create(&options, &context) == QROW_STATUS_OK);
  qrow_context_destroy(context);
}

TEST_CASE("results are written only as far as the caller's struct reaches") {
  qrow_context* context = offline_context();
  qrow_stats stats;
  std::memset(&stats, 0x5a, sizeof(stats));
  stats.struct_size = offsetof(qrow_stats, user_hits);
  REQUIRE(qrow_stats_get(context, &stats) == QROW_STATUS_OK);
  CHECK(stats.struct_size == offsetof(qrow_stats, user_hits));
  CHECK(stats.memory_hits == 0);
  CHECK(stats.user_hits == 0x5a5a5a5a5a5a5a5aU);
  qrow_context_destroy(context);
}

TEST_CASE("the specs of a prewarm lie as far apart as the caller's struct is large") {
  struct OldSpec {
    std::uint32_t struct_size;
    std::int32_t num_q_heads, num_kv_heads, head_dim;
  };
  const OldSpec specs[] = {{sizeof(OldSpec), 64, 8, 96},
                           {sizeof(OldSpec), 32, 5, 128}};  // unsupported, wrong
  const char* archs[] = {"sm_90a"};
  qrow_prewarm_options options{};
  options.struct_size = sizeof(options);
  options.archs = archs;
  options.num_archs = 1;
  CHECK(qrow_prewarm(&options, reinterpret_cast<const qrow_spec*>(specs), 2, nullptr, nullptr,
                     nullptr) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(qrow_last_error()).find("32") != std::string::npos);
}

TEST_CASE("the last error is the thread's own and survives calls that succeed") {
  qrow_spec spec{};
  spec.struct_size = sizeof(spec);
  CHECK(qrow_spec_parse("colour=red", &spec, nullptr) == QROW_STATUS_INVALID_ARGUMENT);
  const std::string text = qrow_last_error();
  CHECK(text.find("colour") != std::string::npos);
  CHECK(qrow_spec_parse("heads=8/8", &spec, nullptr) == QROW_STATUS_OK);
  CHECK(qrow_last_error() == text);
}
