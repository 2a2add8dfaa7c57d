// Every wrong argument is refused before anything is launched, by a sentence that names the field.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "tests/fake_driver/bench.hpp"

using namespace qrow;

namespace {

template <typename T>
T* odd() {
  return reinterpret_cast<T*>(std::uintptr_t{0x1001});
}

struct Mistake {
  const char* field;
  qrow_status status;
  std::function<void(qrow_args&)> make;
};

const Mistake kMistakes[] = {
    {"args.batch", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.batch = -1; }},
    {"args.rows", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.rows = 5; }},
    {"args.rows", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.rows = -1; }},
    {"args.max_kv_len", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.max_kv_len = -1; }},
    {"args.reserved", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.reserved = 1; }},
    {"args.flags", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.flags = 64; }},
    {"args.softmax_scale", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.softmax_scale = std::numeric_limits<float>::quiet_NaN(); }},
    {"args.q is null", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.q = nullptr; }},
    {"args.k is null", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.k = nullptr; }},
    {"args.v is null", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.v = nullptr; }},
    {"args.out is null", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.out = nullptr; }},
    {"args.kv_lens is null", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.kv_lens = nullptr; }},
    {"args.page_table is null", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.page_table = nullptr; }},
    {"args.k_scale is null", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.k_scale = nullptr; }},
    {"args.v_scale is null", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.v_scale = nullptr; }},
    {"args.q is 0x1001", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.q = odd<void>(); }},
    {"args.k is 0x1001", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.k = odd<void>(); }},
    {"args.v is 0x1001", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.v = odd<void>(); }},
    {"args.out is 0x1001", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.out = odd<void>(); }},
    {"args.kv_lens is 0x1001", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.kv_lens = odd<int32_t>(); }},
    {"args.q_row_stride", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.q_row_stride += 8; }},
    {"args.q_head_stride is 0", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.q_head_stride = 0; }},
    {"args.k_page_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.k_page_stride += 1; }},
    {"args.k_page_stride is 0", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.k_page_stride = 0, a.num_pages = 2; }},
    {"args.k_token_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.k_token_stride = 0; }},
    {"args.k_head_stride", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.k_head_stride = 0; }},
    {"args.v_head_stride", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.v_head_stride = 4; }},
    {"args.out_row_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.out_row_stride = 0; }},
    {"args.out_head_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.out_head_stride = 2; }},
    {"args.k_scale_head_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.k_scale_head_stride = 2; }},
    {"args.page_table_stride", QROW_STATUS_INVALID_ARGUMENT,
     [](qrow_args& a) { a.page_table_stride = -1; }},
    {"args.lse", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.lse = odd<float>(); }},
    {"args.sinks", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.sinks = odd<float>(); }},
    {"args.window", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.window = 100; }},
    {"args.softcap", QROW_STATUS_INVALID_ARGUMENT, [](qrow_args& a) { a.softcap = 50; }},
    {"args.page_indptr", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.page_indptr = odd<int32_t>(); }},
    {"args.q_indptr", QROW_STATUS_UNSUPPORTED, [](qrow_args& a) { a.q_indptr = odd<int32_t>(); }},
    {"args.row_kv_lens", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.row_kv_lens = odd<int32_t>(); }},
    {"args.row_kv_begin", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.row_kv_begin = odd<int32_t>(); }},
    {"args.tree_mask", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.tree_mask = odd<uint32_t>(); }},
    {"args.q_scale", QROW_STATUS_UNSUPPORTED, [](qrow_args& a) { a.q_scale = odd<float>(); }},
    {"args.schedule", QROW_STATUS_UNSUPPORTED, [](qrow_args& a) { a.schedule = odd<void>(); }},
    {"args.index_bits", QROW_STATUS_UNSUPPORTED, [](qrow_args& a) { a.index_bits = 64; }},
    {"args.k_scale_page_stride", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.k_scale_token_stride = 4; }},
    {"QROW_RUN_WORKSPACE_PREPARED", QROW_STATUS_UNSUPPORTED,
     [](qrow_args& a) { a.flags = QROW_RUN_WORKSPACE_PREPARED; }},
};

}  // namespace

TEST_CASE("a wrong argument is refused by name, by the first call and by a plan") {
  start_machine();
  TemporaryFolder folder;
  fill_cache(folder.file("c.db"), {.line = kLine});
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  qrow_plan* plan = nullptr;
  REQUIRE(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_OK);
  for (const Mistake& mistake : kMistakes) {
    INFO(mistake.field);
    qrow_args args = args_of(spec, 128, 2048);
    mistake.make(args);
    CHECK(qrow_decode(test.context, &spec, &args, workspace(), kWorkspaceBytes, nullptr) ==
          mistake.status);
    CHECK(std::string(qrow_last_error()).find(mistake.field) != std::string::npos);
    CHECK(qrow_plan_run(plan, &args, workspace(), kWorkspaceBytes, nullptr) == mistake.status);
    CHECK(std::string(qrow_last_error()).find(mistake.field) != std::string::npos);
  }
  CHECK(fake_cuda::fake_cuda_launches() == 0);
  qrow_plan_destroy(plan);
}

TEST_CASE("null handles and structs are refused by name") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  const qrow_args args = args_of(spec, 1, 100);
  const auto refused = [](qrow_status status, const char* name) {
    CHECK(status == QROW_STATUS_INVALID_ARGUMENT);
    CHECK(std::string(qrow_last_error()).find(name) != std::string::npos);
  };
  refused(qrow_decode(nullptr, &spec, &args, nullptr, 0, nullptr), "context is null");
  refused(qrow_decode(test.context, nullptr, &args, nullptr, 0, nullptr), "spec is null");
  refused(qrow_decode(test.context, &spec, nullptr, nullptr, 0, nullptr), "args is null");
  refused(qrow_plan_create(test.context, &spec, nullptr, nullptr), "plan is null");
  refused(qrow_plan_run(nullptr, &args, nullptr, 0, nullptr), "plan is null");
  refused(qrow_context_create(nullptr, nullptr), "context is null");
  qrow_spec unsized{};
  refused(qrow_decode(test.context, &unsized, &args, nullptr, 0, nullptr),
          "spec->struct_size is 0");
  qrow_spec wrong = spec;
  wrong.num_q_heads = 63;
  refused(qrow_decode(test.context, &wrong, &args, nullptr, 0, nullptr), "63");
  wrong = spec;
  wrong.kv_dtype = 77;
  refused(qrow_decode(test.context, &wrong, &args, nullptr, 0, nullptr), "spec.kv_dtype is 77");
}

TEST_CASE("specs that this version cannot compute are refused with each family's reason") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  for (const char* line :
       {"heads=64/8 mask=tree", "heads=64/8 mask=limits", "heads=64/8 window=4096",
        "heads=64/8 softcap=50", "heads=64/8 sinks=on", "heads=64/8 partial=on lse=2",
        "heads=64/8 numerics=batch_invariant", "heads=64/8 numerics=row_invariant",
        "heads=64/8 d=192/128", "heads=64/8 kv=e5m2", "heads=64/8 kv=int8",
        "heads=64/8 kv=e4m3 scale=token_head", "heads=64/8 q=e4m3", "heads=64/8 d=96"}) {
    INFO(line);
    const qrow_spec spec = spec_of(line);
    char reason[400];
    CHECK(qrow_can_run(test.context, &spec, reason, sizeof(reason)) == QROW_STATUS_UNSUPPORTED);
    CHECK(std::string(reason).find("decode_mma: ") != std::string::npos);
    qrow_plan* plan = nullptr;
    CHECK(qrow_plan_create(test.context, &spec, nullptr, &plan) == QROW_STATUS_UNSUPPORTED);
    std::size_t bytes = 0;
    CHECK(qrow_workspace_bytes(test.context, &spec, 1, 100, &bytes) == QROW_STATUS_UNSUPPORTED);
  }
}

TEST_CASE("functions of later versions are refused with a sentence") {
  start_machine();
  TemporaryFolder folder;
  const TestContext test(folder.file("c.db"));
  const qrow_spec spec = spec_of(kLine);
  CHECK(qrow_merge(test.context, nullptr, nullptr) == QROW_STATUS_UNSUPPORTED);
  CHECK(qrow_tune(test.context, &spec, nullptr, nullptr, nullptr) == QROW_STATUS_UNSUPPORTED);
  CHECK(qrow_plan_schedule_bytes(nullptr, 1, nullptr) == QROW_STATUS_UNSUPPORTED);
  CHECK(qrow_workspace_prepare(test.context, nullptr, 0, nullptr) == QROW_STATUS_UNSUPPORTED);
  CHECK(std::string(qrow_last_error()).find("not built yet") != std::string::npos);
}
