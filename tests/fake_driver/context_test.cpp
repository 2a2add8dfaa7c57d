#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/fake_driver/bench.hpp"

using namespace qrow;
using fake_cuda::fake_cuda_all_calls;

namespace {

struct Created {
  qrow_status status;
  std::string text;
};

Created create(int device, const char* arch = nullptr) {
  qrow_context_options options;
  qrow_context_options_init(&options);
  options.device = device;
  options.arch = arch;
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = nullptr;
  const qrow_status status = qrow_context_create(&options, &context);
  CHECK((status == QROW_STATUS_OK) == (context != nullptr));
  const std::string text = status == QROW_STATUS_OK ? "" : qrow_last_error();
  qrow_context_destroy(context);
  return {status, text};
}

bool has(const std::string& text, const char* part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a context takes the device of the current CUDA context") {
  start_machine({.num_devices = 2});
  make_current(1);
  CHECK(create(QROW_DEVICE_CURRENT).status == QROW_STATUS_OK);
}

TEST_CASE("without a current CUDA context the device must be named") {
  start_machine();
  make_current(-1);
  const Created created = create(QROW_DEVICE_CURRENT);
  CHECK(created.status == QROW_STATUS_NO_DEVICE);
  CHECK(has(created.text, "no current CUDA context"));
  CHECK(has(created.text, "ordinal"));
  CHECK(create(0).status == QROW_STATUS_OK);
}

TEST_CASE("a device that is not there is named with the number of devices") {
  start_machine({.num_devices = 2});
  const Created created = create(99);
  CHECK(created.status == QROW_STATUS_NO_DEVICE);
  CHECK(created.text == "device 99 was asked for; this machine has 2 CUDA devices (0 to 1)");
  CHECK(create(-3).status == QROW_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a device below compute capability 8.0 is refused by its number") {
  start_machine({.major = 7, .minor = 5});
  const Created created = create(0);
  CHECK(created.status == QROW_STATUS_NO_DEVICE);
  CHECK(has(created.text, "7.5"));
}

TEST_CASE("an offline context needs an arch, answers, and touches no driver") {
  start_machine();
  const int before = fake_cuda_all_calls();
  CHECK(has(create(QROW_DEVICE_NONE).text, "needs an arch"));
  CHECK(has(create(QROW_DEVICE_NONE, "sm_12").text, "sm_90a"));
  CHECK(has(create(0, "sm_90a").text, "QROW_DEVICE_NONE alone"));
  qrow_context_options options;
  qrow_context_options_init(&options);
  options.device = QROW_DEVICE_NONE;
  options.arch = "h200";
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = nullptr;
  REQUIRE(qrow_context_create(&options, &context) == QROW_STATUS_OK);
  const qrow_spec spec = spec_of();
  char reason[200] = "unset";
  CHECK(qrow_can_run(context, &spec, reason, sizeof(reason)) == QROW_STATUS_OK);
  CHECK(std::string(reason) == "");
  qrow_plan* plan = nullptr;
  CHECK(qrow_plan_create(context, &spec, nullptr, &plan) == QROW_STATUS_NO_DEVICE);
  CHECK(has(qrow_last_error(), "offline"));
  const qrow_args args = args_of(spec, 1, 100);
  CHECK(qrow_decode(context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
        QROW_STATUS_NO_DEVICE);
  std::size_t bytes = 1;
  CHECK(qrow_workspace_bytes(context, &spec, 1, 100, &bytes) == QROW_STATUS_NO_DEVICE);
  CHECK(bytes == 0);
  qrow_context_destroy(context);
  CHECK(fake_cuda_all_calls() == before);
}

TEST_CASE("can_run gives each family's reason, cut to the space there is") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of("heads=64/8 d=96");
  char reason[300];
  CHECK(qrow_can_run(test.context, &spec, reason, sizeof(reason)) == QROW_STATUS_UNSUPPORTED);
  CHECK(has(reason, "decode_mma: "));
  CHECK(has(qrow_last_error(), "heads=64/8 d=96"));
  char little[5];
  CHECK(qrow_can_run(test.context, &spec, little, sizeof(little)) == QROW_STATUS_UNSUPPORTED);
  CHECK(std::string(little) == "deco");
}

TEST_CASE("QROW_JIT can forbid compiling and its value is checked") {
  start_machine();
  setenv("QROW_JIT", "off", 1);
  CHECK(has(create(0).text, "QROW_JIT is 'off'"));
  setenv("QROW_JIT", "cache_only", 1);
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"), true);
  unsetenv("QROW_JIT");
  const qrow_spec spec = spec_of();
  const qrow_args args = args_of(spec, 1, 100);
  CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
        QROW_STATUS_NOT_CACHED);
}

TEST_CASE("a plan is refused where the current CUDA context is of another device") {
  start_machine({.num_devices = 2});
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = "heads=64/8"});
  const TestContext test(folder.file("c.db"));
  make_current(1);
  const qrow_spec spec = spec_of("heads=64/8");
  qrow_plan* plan = nullptr;
  CHECK(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(has(qrow_last_error(), "device 1"));
  make_current(0);
  CHECK(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_OK);
  qrow_plan_destroy(plan);
}
