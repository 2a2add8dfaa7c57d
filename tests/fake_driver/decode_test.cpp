#include <doctest/doctest.h>

#include <cmath>

#include "runtime/dispatch.hpp"
#include "runtime/public_spec.hpp"
#include "templates/common/partition.cuh"
#include "tests/fake_driver/bench.hpp"

using namespace qrow;
using fake_cuda::fake_cuda_calls;
using fake_cuda::fake_cuda_capture;
using fake_cuda::fake_cuda_launch;
using fake_cuda::fake_cuda_launches;
using fake_cuda::fake_cuda_live_libraries;

namespace {

qrow_status decode(const TestContext& test, const qrow_spec& spec, const qrow_args& args,
                   void* stream = nullptr) {
  return qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, stream);
}

}  // namespace

TEST_CASE("the first call loads its kernels and the next calls only launch") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  {
    const TestContext test(folder.file("c.db"));
    const qrow_spec spec = spec_of(kLine);
    const qrow_args args = args_of(spec, 128, 2048);
    CHECK(decode(test, spec, args) == QROW_STATUS_OK);
    CHECK(fake_cuda_calls("cuLibraryLoadData") == 2);
    CHECK(fake_cuda_calls("cuKernelGetFunction") == 2);
    CHECK(fake_cuda_launches() == 2);
    CHECK(decode(test, spec, args) == QROW_STATUS_OK);
    CHECK(fake_cuda_calls("cuLibraryLoadData") == 2);
    CHECK(fake_cuda_launches() == 4);
    const qrow_stats stats = test.stats();
    CHECK(stats.user_hits == 2);
    CHECK(stats.compiles == 0);
    CHECK(stats.launches == 4);
    CHECK(stats.cubin_bytes_loaded > 0);
  }
  CHECK(fake_cuda_live_libraries() == 0);
}

TEST_CASE("grids, shared memory and parameters are those of the choice") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = "heads=64/8 rows=4 page=64 kv=e4m3 lse=e"});
  const TestContext test(folder.file("c.db"));
  const qrow_spec raw = spec_of("heads=64/8 rows=4 page=64 kv=e4m3 lse=e");
  const Spec spec = to_spec(raw);
  qrow_args args = args_of(raw, 3, 5000);
  args.rows = 2;
  auto* const stream = reinterpret_cast<void*>(0x77);
  REQUIRE(decode(test, raw, args, stream) == QROW_STATUS_OK);
  const Arch& arch = arch_by_name("sm_90a");
  const Choice choice = choose(spec, arch, bucket_of(spec, 3, 5000, 2, 0));
  const Geometry g = choice.family->geometry(spec, choice.tuning, arch);
  const Geometry c = choice.combine->geometry(spec, choice.combine_tuning, arch);
  const auto* attention = fake_cuda_launch(0);
  const auto* combine = fake_cuda_launch(1);
  CHECK(has(attention->kernel, "qrow_decode_mma_"));
  CHECK(has(combine->kernel, "qrow_combine_"));
  const int heads = 8 * g.column_tiles;
  const int abreast = heads_abreast_of(132 * g.blocks_per_sm, heads);
  const long long steps = (5000 + g.step_tokens - 1) / g.step_tokens;
  const long long blocks = num_blocks_of(132 * g.blocks_per_sm, heads, abreast, 3, steps);
  CHECK(attention->grid_x == blocks);
  CHECK(attention->grid_y == 1);
  CHECK(attention->threads == static_cast<unsigned>(g.threads));
  CHECK(attention->smem_bytes == static_cast<unsigned>(g.smem_bytes));
  CHECK(attention->stream == stream);
  CHECK(!attention->overlaps);
  CHECK(combine->grid_x == std::min(3LL * heads, blocks));
  CHECK(combine->grid_y ==
        static_cast<unsigned>((g.columns_per_tile + c.columns_per_tile - 1) / c.columns_per_tile));
  CHECK(combine->threads == static_cast<unsigned>(c.threads));
  CHECK(combine->overlaps);
  const DecodeParams& p = attention->params;
  CHECK(p.q == args.q);
  CHECK(p.k_page_stride == args.k_page_stride);
  CHECK(p.v_page_table == args.page_table);
  CHECK(p.lse == args.lse);
  CHECK(p.batch == 3);
  CHECK(p.rows == 2);
  CHECK(p.max_kv_len == 5000);
  CHECK(p.num_blocks == blocks);
  CHECK(p.heads_abreast == abreast);
  CHECK(p.splits == 0);
  CHECK(p.column_tiles == g.column_tiles);
  CHECK(p.columns_per_tile == g.columns_per_tile);
  CHECK(p.softmax_scale == doctest::Approx(1 / std::sqrt(128.0)));
  CHECK(p.lse_unit == doctest::Approx(std::log(2.0)));
  CHECK(p.k_scale_head_stride == 0);
  const WorkspaceLayout layout = workspace_layout(blocks, g.columns_per_tile, g.head_dim_v);
  CHECK(p.partial_o == workspace());
  CHECK(reinterpret_cast<char*>(p.merge_records) - static_cast<char*>(workspace()) ==
        layout.merge_records);
}

TEST_CASE("a call whose requests are no longer than a step launches no combine kernel") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  CHECK(decode(test, spec, args_of(spec, 2, 16)) == QROW_STATUS_OK);
  CHECK(fake_cuda_launches() == 1);
}

TEST_CASE("a batch of 0 is a legal call that launches nothing") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  qrow_args args{};
  args.struct_size = sizeof(args);
  CHECK(qrow_decode(test.context, &spec, &args, nullptr, 0, nullptr) == QROW_STATUS_OK);
  CHECK(fake_cuda_launches() == 0);
}

TEST_CASE(
    "QROW_RUN_PDL launches the attention kernel as a programmatic dependant, where the arch can") {
  for (const bool hopper : {true, false}) {
    start_machine({.major = hopper ? 9 : 8, .minor = 0});
    TemporaryFolder folder;
    fill_cache(folder.file("c.db"), {.line = kLine, .arch = hopper ? "sm_90a" : "sm_80"});
    const TestContext test(folder.file("c.db"));
    const qrow_spec spec = spec_of(kLine);
    qrow_args args = args_of(spec, 128, 2048);
    args.flags = QROW_RUN_PDL | QROW_RUN_OLD_KV_READY;
    REQUIRE(decode(test, spec, args) == QROW_STATUS_OK);
    CHECK(fake_cuda_launch(0)->overlaps == hopper);
    CHECK(fake_cuda_launch(1)->overlaps == hopper);
  }
}

TEST_CASE("cache_only names the missing kernel and the line that makes it") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  CHECK(decode(test, spec, args_of(spec, 128, 2048)) == QROW_STATUS_NOT_CACHED);
  const std::string text = qrow_last_error();
  CHECK(has(text, "qrow prewarm 'heads=64/8 rows=4 kv=e4m3' --arch sm_90a"));
  bool names_a_key = false;
  for (const PrewarmItem& item : items_of(kLine))
    names_a_key |= text.find(item.key.digest.hex()) != std::string::npos;
  CHECK(names_a_key);
  CHECK(test.stats().not_cached == 1);
  CHECK(test.stats().miss_new_key == 1);
  fill_cache(folder.file("c.db"), {.line = kLine});
  CHECK(decode(test, spec, args_of(spec, 128, 2048)) == QROW_STATUS_OK);
}

TEST_CASE("a kernel that the cache lacks is compiled on first use, and by nobody after that") {
  start_machine();
  TemporaryFolder folder;
  const qrow_spec spec = spec_of(kLine);
  {
    const TestContext test(folder.file("c.db"), true);
    const qrow_status status = decode(test, spec, args_of(spec, 128, 2048));
    REQUIRE_MESSAGE(status == QROW_STATUS_OK, qrow_last_error());
    CHECK(test.stats().compiles == 2);
    CHECK(test.stats().compile_seconds > 0);
  }
  const TestContext again(folder.file("c.db"));
  CHECK(decode(again, spec, args_of(spec, 128, 2048)) == QROW_STATUS_OK);
  CHECK(again.stats().user_hits == 2);
}

TEST_CASE("under stream capture a missing kernel is NOT_CACHED and nothing is loaded") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"), true);
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  auto* const stream = reinterpret_cast<CUstream>(0x9);
  fake_cuda_capture(stream, true);
  CHECK(decode(test, spec, args, stream) == QROW_STATUS_NOT_CACHED);
  CHECK(has(qrow_last_error(), "qrow prewarm 'heads=64/8 rows=4 kv=e4m3' --arch sm_90a"));
  qrow_plan* plan = nullptr;
  CHECK(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_NOT_CACHED);
  CHECK(fake_cuda_calls("cuLibraryLoadData") == 0);
  CHECK(fake_cuda_calls("cuMemAlloc_v2") == 0);
  CHECK(fake_cuda_calls("cuCtxSynchronize") == 0);
  fake_cuda_capture(stream, false);
  CHECK(decode(test, spec, args, stream) == QROW_STATUS_OK);
  fake_cuda_capture(stream, true);
  CHECK(decode(test, spec, args, stream) == QROW_STATUS_OK);
  // Another bucket: what was loaded for this spec serves.
  CHECK(decode(test, spec, args_of(spec, 1, 100'000), stream) == QROW_STATUS_OK);
}

TEST_CASE("a hit asks the driver for nothing but launches") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 128, 2048);
  REQUIRE(decode(test, spec, args) == QROW_STATUS_OK);
  const int all = fake_cuda::fake_cuda_all_calls();
  const int launches = fake_cuda_calls("cuLaunchKernelEx");
  const int checks =
      fake_cuda_calls("cuCtxGetCurrent");  // debug builds compare the context on each run
  REQUIRE(decode(test, spec, args) == QROW_STATUS_OK);
  const int launched = fake_cuda_calls("cuLaunchKernelEx") - launches;
  CHECK(launched == 2);
  CHECK(fake_cuda::fake_cuda_all_calls() - all ==
        launched + fake_cuda_calls("cuCtxGetCurrent") - checks);
#ifdef NDEBUG
  CHECK(fake_cuda_calls("cuCtxGetCurrent") == checks);
#endif
}

TEST_CASE("a workspace one byte short is told with the bytes needed and given") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  qrow_workload workload{};
  workload.struct_size = sizeof(workload);
  workload.batch = 128;
  workload.max_kv_len = 2048;
  qrow_plan* plan = nullptr;
  REQUIRE(qrow_plan_create(test.context, &spec, &workload, &plan) == QROW_STATUS_OK);
  std::size_t exact = 0, general = 0;
  REQUIRE(qrow_plan_workspace_bytes(plan, 128, 2048, &exact) == QROW_STATUS_OK);
  REQUIRE(qrow_workspace_bytes(test.context, &spec, 128, 2048, &general) == QROW_STATUS_OK);
  CHECK(exact > 0);
  CHECK(general >= exact);
  const qrow_args args = args_of(spec, 128, 2048);
  CHECK(qrow_plan_run(plan, &args, workspace(), exact, nullptr) == QROW_STATUS_OK);
  CHECK(qrow_plan_run(plan, &args, workspace(), exact - 1, nullptr) ==
        QROW_STATUS_WORKSPACE_TOO_SMALL);
  CHECK(has(qrow_last_error(), std::to_string(exact)));
  CHECK(has(qrow_last_error(), std::to_string(exact - 1)));
  CHECK(qrow_plan_run(plan, &args, nullptr, exact, nullptr) == QROW_STATUS_INVALID_ARGUMENT);
  CHECK(qrow_plan_run(plan, &args, static_cast<char*>(workspace()) + 16, exact, nullptr) ==
        QROW_STATUS_INVALID_ARGUMENT);
  CHECK(has(qrow_last_error(), "256"));
  qrow_plan_destroy(plan);
}

TEST_CASE("workspace bytes never fall with a larger batch or length, whatever the cache holds") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  std::size_t before = 0;
  for (const int batch : {0, 1, 2, 7, 64, 1000, 70'000}) {
    std::size_t shorter = 0;
    for (const long long len : {0LL, 1LL, 100LL, 5000LL, 1LL << 20, 1LL << 40}) {
      std::size_t bytes = 0;
      REQUIRE(qrow_workspace_bytes(test.context, &spec, batch, len, &bytes) == QROW_STATUS_OK);
      CHECK(bytes >= shorter);
      shorter = bytes;
    }
    CHECK(shorter >= before);
    before = shorter;
  }
  std::size_t bytes = 0;
  CHECK(qrow_workspace_bytes(test.context, &spec, -1, 1, &bytes) == QROW_STATUS_INVALID_ARGUMENT);
}
