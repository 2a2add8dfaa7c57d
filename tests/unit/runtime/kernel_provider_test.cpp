#include "runtime/kernel_provider.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "jit/entry.hpp"
#include "jit/nvrtc.hpp"
#include "runtime/case.hpp"
#include "runtime/dispatch.hpp"
#include "templates/families.hpp"
#include "templates/sources.hpp"
#include "tests/skip.hpp"
#include "tests/temporary_folder.hpp"

using namespace qrow;

namespace {

Variant combine_variant() {
  const Spec spec = parse_case("heads=8/8").spec;
  const Arch& arch = arch_by_name("sm_90a");
  const Family& combine = *family_by_name("combine");
  return combine.variant(spec, combine.default_tuning(spec, arch, {}), arch);
}

Key key_of(const Variant& variant) { return make_key(variant, template_digest(variant.family)); }

void store(const std::string& path, const Variant& variant, const char* build,
           std::byte content = std::byte{1}) {
  StoreOptions options;
  options.path = path;
  const auto store = KernelStore::open(options, true);
  const Key key = key_of(variant);
  KernelRow row;
  row.key = key.digest;
  row.key_text = key.text;
  row.family = variant.family;
  row.arch = variant.arch->name;
  row.entry_name = entry_name(variant, key);
  row.nvrtc_build = build;
  row.cubin.assign(10, content);
  REQUIRE(store->put(row, nullptr));
}

KernelProvider::Request request_of(const Variant& variant) {
  KernelProvider::Request request;
  request.variant = &variant;
  request.case_line = "heads=8/8";
  return request;
}

ProviderOptions options_of(const std::string& path) {
  ProviderOptions options;
  options.cache_path = path;
  return options;
}

}  // namespace

TEST_CASE("the user's file serves first, memory after that") {
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  store(folder.file("c.db"), variant, "13.0.88");
  KernelProvider provider(options_of(folder.file("c.db")));
  CHECK(provider.get(request_of(variant))->source == Source::user);
  CHECK(provider.get(request_of(variant))->source == Source::memory);
  CHECK(provider.counts().user_hits == 1);
  CHECK(provider.counts().memory_hits == 1);
  CHECK(provider.counts().compiles == 0);
}

TEST_CASE("a seed is asked before the user's file and is not copied into it") {
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  store(folder.file("seed.db"), variant, "13.0.88");
  ProviderOptions options = options_of(folder.file("c.db"));
  options.seed_paths = {folder.file("seed.db")};
  {
    KernelProvider provider(options);
    CHECK(provider.get(request_of(variant))->source == Source::seed);
    CHECK(provider.counts().seed_hits == 1);
  }
  KernelProvider without(options_of(folder.file("c.db")));
  CHECK(without.peek(variant) == nullptr);
}

TEST_CASE("the seeds of QROW_SEEDS are asked too") {
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  store(folder.file("seed.db"), variant, "13.0.88");
  setenv("QROW_SEEDS", (":" + folder.file("none.db") + ":" + folder.file("seed.db")).c_str(), 1);
  ProviderOptions options = options_of(folder.file("c.db"));
  options.cache_only = true;
  KernelProvider provider(options);
  unsetenv("QROW_SEEDS");
  CHECK(provider.get(request_of(variant))->source == Source::seed);
}

TEST_CASE("a miss that may not compile gives key, reason and prewarm line, and loads no compiler") {
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  ProviderOptions options = options_of(folder.file("c.db"));
  options.cache_only = true;
  KernelProvider provider(options);
  try {
    provider.get(request_of(variant));
    FAIL("was found");
  } catch (const Error& error) {
    CHECK(error.status() == Status::not_cached);
    CHECK(std::string(error.what()) ==
          "kernel " + key_of(variant).digest.hex() +
              " (combine for sm_90a) is not in the cache, and jit_mode cache_only forbids "
              "compiling. Make it beforehand: qrow "
              "prewarm 'heads=8/8' --arch sm_90a");
  }
  CHECK(provider.counts().miss_new_key == 1);
  CHECK(provider.counts().not_cached == 1);
}

TEST_CASE("rows are offered until one is accepted") {
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  store(folder.file("c.db"), variant, "12.9.1", std::byte{1});
  store(folder.file("c.db"), variant, "13.0.88", std::byte{2});
  KernelProvider provider(options_of(folder.file("c.db")));
  KernelProvider::Request request = request_of(variant);
  int asked = 0;
  request.accept = [&](const Cubin& cubin) {
    ++asked;
    return cubin.row.cubin.front() == std::byte{1};
  };
  CHECK(provider.get(request)->row.nvrtc_build == "12.9.1");
  CHECK(asked >= 1);
}

TEST_CASE("a kernel is compiled once, logged before and after, stored and found again") {
  std::string why;
  if (Nvrtc::try_get(&why) == nullptr) {
    skip_case("no NVRTC");
    return;
  }
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  ProviderOptions options = options_of(folder.file("c.db"));
  std::string log;
  options.log =
      Log(LogLevel::info, [&](LogLevel, const char* text) { log += std::string(text) + "\n"; });
  {
    KernelProvider provider(options);
    const auto cubin = provider.get(request_of(variant));
    CHECK(cubin->source == Source::compiled);
    CHECK(cubin->row.registers > 0);
    CHECK(cubin->row.spill_bytes == 0);
    CHECK(!cubin->row.cubin.empty());
    CHECK(provider.counts().compiles == 1);
    CHECK(provider.counts().miss_new_key == 1);
    CHECK(provider.counts().compile_microseconds > 0);
  }
  const std::string hex = key_of(variant).digest.hex();
  CHECK(log.find("compiling " + hex) != std::string::npos);
  CHECK(log.find("compiled " + hex) != std::string::npos);
  KernelProvider again(options);
  CHECK(again.get(request_of(variant))->source == Source::user);
  REQUIRE(again.peek(variant) != nullptr);
  CHECK(again.peek(variant)->row.cubin.empty());
}

TEST_CASE("refresh recompiles what another NVRTC build made and keeps both rows") {
  std::string why;
  if (Nvrtc::try_get(&why) == nullptr) {
    skip_case("no NVRTC");
    return;
  }
  TemporaryFolder folder;
  const Variant variant = combine_variant();
  store(folder.file("c.db"), variant, "1.2.3");
  KernelProvider provider(options_of(folder.file("c.db")));
  KernelProvider::Request request = request_of(variant);
  CHECK(provider.get(request)->row.nvrtc_build == "1.2.3");
  request.refresh = true;
  request.pinned = true;
  CHECK(provider.get(request)->source == Source::compiled);
  CHECK(provider.get(request)->source == Source::user);
  const Key key = key_of(variant);
  CHECK(provider.layers().find(key.digest, key.text).size() == 2);
}

TEST_CASE("a cache that cannot be opened is no failure, except for what must be stored") {
  std::string why;
  if (Nvrtc::try_get(&why) == nullptr) {
    skip_case("no NVRTC");
    return;
  }
  const Variant variant = combine_variant();
  KernelProvider provider(options_of("/proc/no/such/place/c.db"));
  CHECK(provider.get(request_of(variant))->source == Source::compiled);
  CHECK(provider.get(request_of(variant))->source == Source::memory);
  CHECK(provider.counts().miss_cache_unavailable == 1);
  CHECK(provider.counts().cache_errors > 0);
}

TEST_CASE("a deadline and a cancel flag end a compilation with their own status") {
  std::string why;
  if (Nvrtc::try_get(&why) == nullptr) {
    skip_case("no NVRTC");
    return;
  }
  const Variant variant = combine_variant();
  ProviderOptions options;
  options.cache_off = true;
  options.compile_deadline_ms = 1;
  KernelProvider provider(options);
  const auto status_of = [&](const KernelProvider::Request& request) {
    try {
      provider.get(request);
      return Status::ok;
    } catch (const Error& error) {
      return error.status();
    }
  };
  CHECK(status_of(request_of(variant)) == Status::deadline);
  CHECK(provider.counts().compile_failures == 1);
  std::atomic<bool> cancel{true};
  KernelProvider::Request request = request_of(variant);
  request.cancel = &cancel;
  CHECK(status_of(request) == Status::cancelled);
}
