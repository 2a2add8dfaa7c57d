#include <doctest/doctest.h>

#include "jit/key.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/public_spec.hpp"
#include "templates/sources.hpp"
#include "tests/fake_driver/bench.hpp"

using namespace qrow;
using fake_cuda::fake_cuda_calls;
using fake_cuda::fake_cuda_launch;
using fake_cuda::fake_cuda_launches;
using fake_cuda::fake_cuda_live_libraries;

namespace {

qrow_workload workload_of(int batch, long long max_kv_len) {
  qrow_workload workload{};
  workload.struct_size = sizeof(workload);
  workload.batch = batch;
  workload.max_kv_len = max_kv_len;
  return workload;
}

// The kernel name that the default choice of this workload has.
std::string kernel_of(const Spec& spec, int batch, long long len, int rows) {
  const Arch& arch = arch_by_name("sm_90a");
  const Variant variant =
      variants_of(spec, choose(spec, arch, bucket_of(spec, batch, len, rows, 0)), arch).front();
  return "qrow_" + variant.family + "_" +
         make_key(variant, template_digest(variant.family)).digest.hex().substr(0, 8);
}

}  // namespace

TEST_CASE("a plan tells family, tuning, key and where its kernel came from") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_workload workload = workload_of(128, 2048);
  for (const int source : {QROW_SOURCE_USER, QROW_SOURCE_MEMORY}) {
    qrow_plan* plan = nullptr;
    REQUIRE(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_OK);
    qrow_plan_info info{};
    info.struct_size = sizeof(info);
    REQUIRE(qrow_plan_info_get(plan, &info) == QROW_STATUS_OK);
    CHECK(std::string(info.family) == "decode_mma");
    CHECK(has(info.tuning, "tile_tokens:"));
    CHECK(std::string(info.key).size() == 32);
    CHECK(std::string(info.arch) == "sm_90a");
    CHECK(info.registers == 100);
    CHECK(info.threads > 0);
    CHECK(info.smem_bytes > 0);
    CHECK(info.source == source);
    CHECK(info.tuning_source == QROW_TUNING_DEFAULT);
    qrow_plan_destroy(plan);
  }
  CHECK(fake_cuda_calls("cuLibraryLoadData") == 2);
}

TEST_CASE("a plan outlives its context, and its kernels go with it") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const qrow_spec spec = spec_of(kLine);
  qrow_plan* plan = nullptr;
  {
    const TestContext test(folder.file("c.db"));
    REQUIRE(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_OK);
  }
  CHECK(fake_cuda_live_libraries() > 0);
  const qrow_args args = args_of(spec, 128, 2048);
  CHECK(qrow_plan_run(plan, &args, workspace(), kWorkspaceBytes, nullptr) == QROW_STATUS_OK);
  qrow_plan_destroy(plan);
  CHECK(fake_cuda_live_libraries() == 0);
}

TEST_CASE(
    "a plan without a workload has every bucket ready and chooses by the arguments of the run") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec raw = spec_of(kLine);
  qrow_plan* plan = nullptr;
  REQUIRE(qrow_plan_create(test.context, &raw, nullptr, &plan) == QROW_STATUS_OK);
  CHECK(fake_cuda_calls("cuLibraryLoadData") == static_cast<int>(items_of(kLine).size()));
  const int loads = fake_cuda_calls("cuLibraryLoadData");
  for (const int batch : {1, 7, 128, 100'000}) {
    for (const long long len : {1LL, 3000LL, 200'000LL, 1LL << 33}) {
      for (const int rows : {1, 4}) {
        qrow_args args = args_of(raw, batch, len);
        args.rows = rows;
        const int first = fake_cuda_launches();
        REQUIRE(qrow_plan_run(plan, &args, workspace(), kWorkspaceBytes, nullptr) ==
                QROW_STATUS_OK);
        CHECK(std::string(fake_cuda_launch(first)->kernel) ==
              kernel_of(to_spec(raw), batch, len, rows));
      }
    }
  }
  CHECK(fake_cuda_calls("cuLibraryLoadData") == loads);
  qrow_plan_destroy(plan);
}

TEST_CASE("forced splits cut every unit into as many pieces") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  for (const int splits : {1, 7}) {
    qrow_workload workload = workload_of(3, 2048);
    workload.splits = splits;
    qrow_plan* plan = nullptr;
    REQUIRE(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_OK);
    const qrow_args args = args_of(spec, 3, 2048);
    std::size_t bytes = 0;
    REQUIRE(qrow_plan_workspace_bytes(plan, 3, 2048, &bytes) == QROW_STATUS_OK);
    const int first = fake_cuda_launches();
    REQUIRE(qrow_plan_run(plan, &args, workspace(), bytes, nullptr) == QROW_STATUS_OK);
    const DecodeParams& p = fake_cuda_launch(first)->params;
    const unsigned units = 3U * 8U * static_cast<unsigned>(p.column_tiles);
    CHECK(p.splits == splits);
    CHECK(p.heads_abreast == 1);
    CHECK(fake_cuda_launch(first)->grid_x == units * static_cast<unsigned>(splits));
    CHECK(fake_cuda_launches() - first == (splits > 1 ? 2 : 1));
    if (splits > 1) CHECK(fake_cuda_launch(first + 1)->grid_x == units);
    qrow_plan_destroy(plan);
  }
}

TEST_CASE("a forced tuning is used, and an illegal one is refused with the reason") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"),
             {.line = "heads=64/8 rows=4 page=64 kv=e4m3 tuning=num_stages:2"});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  qrow_workload workload = workload_of(128, 2048);
  workload.tuning = "num_stages:2";
  qrow_plan* plan = nullptr;
  REQUIRE_MESSAGE(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_OK,
                  qrow_last_error());
  qrow_plan_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(qrow_plan_info_get(plan, &info) == QROW_STATUS_OK);
  CHECK(has(info.tuning, "num_stages:2"));
  CHECK(info.tuning_source == QROW_TUNING_FORCED);
  qrow_plan_destroy(plan);
  for (const char* wrong : {"num_stages:999", "no_such_axis:1", "num_stages"}) {
    workload.tuning = wrong;
    CHECK(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_INVALID_ARGUMENT);
    CHECK(plan == nullptr);
  }
  workload.tuning = nullptr;
  workload.family = "no_such_family";
  CHECK(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(has(qrow_last_error(), "decode_mma"));
}

TEST_CASE(
    "with cache_only the pick of another bucket serves where the right one is missing, and says "
    "so") {
  start_machine();
  TemporaryFolder folder;
  // One tuning alone, which the buckets of a small batch do not choose by default.
  const Spec spec = to_spec(spec_of(kLine));
  const Arch& arch = arch_by_name("sm_90a");
  const Choice large = choose(spec, arch, bucket_of(spec, 4096, 2048, 4, 0));
  const Choice small = choose(spec, arch, bucket_of(spec, 1, 100'000, 4, 0));
  fill_cache(
      folder.file("c.db"),
      {.line = std::string(kLine) + " tuning=" + format_tuning(*large.family, large.tuning)});
  const TestContext test(folder.file("c.db"));
  const qrow_spec raw = spec_of(kLine);
  const qrow_workload workload = workload_of(1, 100'000);
  qrow_plan* plan = nullptr;
  REQUIRE_MESSAGE(qrow_plan_create(test.context, &raw, &workload, &plan) == QROW_STATUS_OK,
                  qrow_last_error());
  qrow_plan_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(qrow_plan_info_get(plan, &info) == QROW_STATUS_OK);
  CHECK(std::string(info.tuning) == format_tuning(*large.family, large.tuning));
  CHECK(info.tuning_source ==
        (small.tuning == large.tuning ? QROW_TUNING_DEFAULT : QROW_TUNING_NEAREST));
  qrow_plan_destroy(plan);
}

TEST_CASE("a device takes the cubins of another arch that it loads where its own are missing") {
  start_machine({.major = 8, .minor = 7});
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine, .arch = "sm_80"});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  CHECK_MESSAGE(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
                    QROW_STATUS_OK,
                qrow_last_error());
}
