#include "tests/fake_driver/bench.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

#include "cache/kernel_store.hpp"
#include "jit/entry.hpp"
#include "runtime/case.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/public_spec.hpp"

namespace qrow {
namespace {

// Before anything of qrow runs: the driver library is chosen once a process.
const bool environment_is_set = [] {
  setenv("QROW_LIBCUDA", QROW_FAKE_CUDA, 1);
  for (const char* name : {"QROW_CACHE", "QROW_SEEDS", "QROW_JIT", "QROW_LOG", "QROW_DUMP"})
    unsetenv(name);
  return true;
}();

template <typename T>
T* address(std::uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

}  // namespace

void start_machine(const fake_cuda::Machine& machine) {
  REQUIRE(environment_is_set);
  fake_cuda::fake_cuda_reset(&machine);
  make_current(0);
}

void make_current(int device) {
  const Driver& driver = Driver::get();
  CUcontext context = nullptr;
  if (device >= 0)
    driver.check(driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  driver.check(driver->cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

qrow_spec spec_of(const std::string& line) { return from_spec(parse_case(line).spec); }

std::vector<PrewarmItem> items_of(const std::string& line, const std::string& arch) {
  return list_prewarm({parse_case(line)}, {&arch_by_name(arch)});
}

void fill_cache(const std::string& path, const Filled& filled) {
  StoreOptions options;
  options.path = path;
  const auto store = KernelStore::open(options, true);
  for (const PrewarmItem& item : items_of(filled.line, filled.arch)) {
    REQUIRE(item.refusal == "");
    KernelRow row;
    row.key = item.key.digest;
    row.key_text = item.key.text;
    row.family = item.family;
    row.arch = item.arch->name;
    row.entry_name = entry_name(item.variant, item.key);
    row.nvrtc_build = filled.nvrtc_build;
    row.registers = 100;
    row.smem_bytes = item.variant.smem_bytes;
    const auto* bytes = reinterpret_cast<const std::byte*>(filled.image);
    row.cubin.assign(bytes, bytes + std::strlen(filled.image) + 1);
    std::string reason;
    REQUIRE_MESSAGE(store->put(row, &reason), reason);
  }
}

TestContext::TestContext(const std::string& cache_path, bool compiles, int device) {
  qrow_context_options options;
  REQUIRE(qrow_context_options_init(&options) == QROW_STATUS_OK);
  options.device = device;
  options.cache_path = cache_path.c_str();
  options.jit_mode = compiles ? QROW_JIT_ON : QROW_JIT_CACHE_ONLY;
  options.log_callback = [](void*, qrow_log_level, const char*) {};
  REQUIRE_MESSAGE(qrow_context_create(&options, &context) == QROW_STATUS_OK, qrow_last_error());
}

qrow_stats TestContext::stats() const {
  qrow_stats stats{};
  stats.struct_size = sizeof(stats);
  REQUIRE(qrow_stats_get(context, &stats) == QROW_STATUS_OK);
  return stats;
}

qrow_args args_of(const qrow_spec& raw, int batch, long long max_kv_len) {
  const Spec spec = to_spec(raw);
  qrow_args args{};
  args.struct_size = sizeof(args);
  args.batch = batch;
  args.max_kv_len = max_kv_len;
  args.q = address<void>(0x10000);
  args.q_head_stride = 2 * spec.head_dim;
  args.q_row_stride = args.q_head_stride * spec.num_q_heads;
  args.k = address<void>(0x20000);
  args.v = address<void>(0x30000);
  const int kv_bytes = spec.kv_dtype >= QROW_DTYPE_E4M3 ? 1 : 2;
  args.k_head_stride = args.v_head_stride = static_cast<std::int64_t>(kv_bytes) * spec.head_dim;
  args.k_token_stride = args.v_token_stride = args.k_head_stride * spec.num_kv_heads;
  args.k_page_stride = args.v_page_stride = args.k_token_stride * spec.page_size;
  args.out = address<void>(0x40000);
  args.out_head_stride = args.q_head_stride;
  args.out_row_stride = args.q_row_stride;
  args.kv_lens = address<int>(0x50000);
  args.page_table = address<int>(0x60000);
  args.page_table_stride = (max_kv_len + spec.page_size - 1) / spec.page_size;
  if (spec.scale != Scale::none) {
    args.k_scale = address<float>(0x70000);
    args.v_scale = address<float>(0x70004);
  }
  if (spec.lse != Lse::off) {
    args.lse = address<float>(0x80000);
    args.lse_head_stride = 4;
    args.lse_row_stride = 4 * spec.num_q_heads;
  }
  return args;
}

void* workspace() { return address<void>(0x1000000); }

}  // namespace qrow
