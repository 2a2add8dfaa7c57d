#include "runtime/kernel_provider.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "cache/single_flight.hpp"
#include "jit/entry.hpp"
#include "jit/nvrtc.hpp"
#include "runtime/base/env.hpp"
#include "templates/sources.hpp"

namespace qrow {
namespace {

using Clock = std::chrono::steady_clock;

// How long a caller waits for another process that makes the same kernel before it makes it itself.
// Longer than any compilation seen (2.2 s) by far: a wait that ends early only repeats work.
constexpr int kFlightWaitMs = 120'000;

std::unique_ptr<KernelStore> open_store(const std::string& path, bool read_only, const Log& log) {
  StoreOptions options;
  options.path = path;
  options.read_only = read_only;
  options.log = log;
  return KernelStore::open(options);
}

Layers open_layers(const ProviderOptions& options) {
  std::vector<std::unique_ptr<KernelStore>> seeds;
  std::vector<std::string> seed_paths = options.seed_paths;
  const std::string more = env("QROW_SEEDS").value_or("");
  for (std::size_t begin = 0; begin < more.size();) {
    const std::size_t end = std::min(more.find(':', begin), more.size());
    if (end > begin) seed_paths.push_back(more.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& path : seed_paths) seeds.push_back(open_store(path, true, options.log));
  std::unique_ptr<KernelStore> user;
  if (!options.cache_off)
    user = open_store(cache_path_or_default(options.cache_path), options.read_only, options.log);
  return Layers(std::move(seeds), std::move(user));
}

// Of other processes that may make the same kernels; "" where no file is shared with any.
std::string lock_folder_of(Layers& layers, const ProviderOptions& options) {
  KernelStore* user = layers.user();
  return user != nullptr && !options.read_only ? user->lock_folder() : "";
}

Cubin made_from(const Key& key, const Variant& variant, const std::string& case_line,
                CompileResult&& result) {
  Cubin cubin;
  cubin.key = key;
  cubin.source = Source::compiled;
  KernelRow& row = cubin.row;
  row.key = key.digest;
  row.key_text = key.text;
  row.family = variant.family;
  row.arch = variant.arch->name;
  row.entry_name = entry_name(variant, key);
  row.nvrtc_build = std::move(result.nvrtc_build);
  row.options = std::move(result.options);
  row.case_line = case_line;
  row.cubin = std::move(result.cubin);
  row.registers = result.resources.registers;
  row.spill_bytes = result.resources.spill_store_bytes + result.resources.spill_load_bytes;
  row.stack_bytes = result.resources.stack_bytes;
  row.smem_bytes = result.resources.static_smem_bytes + variant.smem_bytes;
  row.compile_ms = result.milliseconds;
  return cubin;
}

}  // namespace

const char* source_name(Source source) {
  switch (source) {
    case Source::compiled:
      return "compiled";
    case Source::user:
      return "user";
    case Source::seed:
      return "seed";
    case Source::memory:
      return "memory";
  }
  return "unknown";
}

std::string cache_path_or_default(const std::string& given) {
  return !given.empty() ? given : env("QROW_CACHE").value_or("");
}

struct KernelProvider::State {
  explicit State(const ProviderOptions& given)
      : options(given),
        forbidden_by_environment(cache_only_by_environment()),
        layers(open_layers(given)),
        flight(lock_folder_of(layers, given)) {}

  bool cache_only() const { return options.cache_only || forbidden_by_environment; }
  // "jit_mode cache_only"
  const char* what_forbids() const {
    return options.cache_only ? "jit_mode cache_only" : "QROW_JIT=cache_only";
  }

  using Found = std::shared_ptr<const Cubin>;

  // What a search passed over, for the reason of a miss.
  struct Passed {
    int refused = 0;
    bool corrupt = false;
  };

  Found search(const Key& key, const Request& request, Passed& passed);
  Found search_memory(const Key& key, const Request& request, Passed& passed);
  Found search_layers(const Key& key, const Request& request, Passed& passed);
  bool acceptable(const Cubin& cubin, const Request& request, Passed& passed);
  void count_miss(const Passed& passed);
  [[noreturn]] void refuse_to_prewarm();
  Found compile_now(const Key& key, const Request& request);
  void store(const Cubin& cubin, bool pinned);
  Found remember(Cubin&& cubin, bool pinned);

  const ProviderOptions options;
  const bool forbidden_by_environment;
  Layers layers;
  SingleFlight flight;
  ProviderCounts counts;
  std::mutex mutex;  // of `memory` and `corrupt_seen`
  std::map<Digest, Found> memory;
  std::int64_t corrupt_seen = 0;
};

// A row is passed over when a refresh wants this NVRTC's own, or when the driver will not load it.
bool KernelProvider::State::acceptable(const Cubin& cubin, const Request& request, Passed& passed) {
  if (request.refresh && cubin.row.nvrtc_build != Nvrtc::get().build()) return false;
  if (!request.accept || request.accept(cubin)) return true;
  ++passed.refused;
  options.log(LogLevel::warning,
              "kernel {} made by NVRTC {} was refused by the driver; trying the next",
              cubin.key.digest.hex(), cubin.row.nvrtc_build);
  return false;
}

KernelProvider::State::Found KernelProvider::State::search_memory(const Key& key,
                                                                  const Request& request,
                                                                  Passed& passed) {
  Found found;
  {
    std::lock_guard lock(mutex);
    const auto place = memory.find(key.digest);
    if (place != memory.end() && place->second->key.text == key.text) found = place->second;
  }
  if (found == nullptr || !acceptable(*found, request, passed)) return nullptr;
  ++counts.memory_hits;
  auto hit = std::make_shared<Cubin>(*found);
  hit->source = Source::memory;
  return hit;
}

KernelProvider::State::Found KernelProvider::State::search_layers(const Key& key,
                                                                  const Request& request,
                                                                  Passed& passed) {
  std::vector<Layers::Hit> hits = layers.find(key.digest, key.text);
  if (layers.user() != nullptr) {
    const std::int64_t corrupt = layers.user()->corrupt_seen();
    std::lock_guard lock(mutex);
    passed.corrupt |= corrupt > corrupt_seen;
    corrupt_seen = corrupt;
  }
  for (Layers::Hit& hit : hits) {
    Cubin cubin{key, std::move(hit.row), hit.from_seed ? Source::seed : Source::user};
    if (!acceptable(cubin, request, passed)) continue;
    if (hit.from_seed) {
      ++counts.seed_hits;
    } else {
      ++counts.user_hits;
      if (!options.read_only) layers.user()->touch(key.digest);
      if (request.pinned && !cubin.row.pinned) store(cubin, true);
    }
    options.log(LogLevel::debug, "kernel {} found in {}", key.digest.hex(), hit.path);
    return remember(std::move(cubin), request.pinned);
  }
  return nullptr;
}

KernelProvider::State::Found KernelProvider::State::search(const Key& key, const Request& request,
                                                           Passed& passed) {
  if (Found found = search_memory(key, request, passed)) return found;
  return search_layers(key, request, passed);
}

void KernelProvider::State::count_miss(const Passed& passed) {
  if (passed.refused > 0) {
    counts.miss_refused_by_driver += static_cast<unsigned long long>(passed.refused);
  } else if (passed.corrupt) {
    ++counts.miss_corrupt;
  } else if (layers.user() != nullptr && !layers.user()->available()) {
    ++counts.miss_cache_unavailable;
  } else {
    ++counts.miss_new_key;
  }
}

// One text for every kernel, so that a report can tell it once.
void KernelProvider::State::refuse_to_prewarm() {
  ++counts.not_cached;
  fail(Status::not_cached,
       "it would have to be compiled, and {} forbids that: a prewarm needs it unset or 'on'",
       what_forbids());
}

KernelProvider::State::Found KernelProvider::State::compile_now(const Key& key,
                                                                const Request& request) {
  const Variant& variant = *request.variant;
  const std::string hex = key.digest.hex();
  options.log(LogLevel::info, "compiling {}: {} for {} ({})", hex, variant.family,
              variant.arch->name, request.case_line);
  CompileJob job;
  job.name = entry_name(variant, key);
  job.text = entry_text(variant, key);
  job.headers = template_sources();
  job.arch = variant.arch;
  CompileLimits limits;
  limits.cancel = request.cancel;
  if (options.compile_deadline_ms > 0) {
    limits.deadline = Clock::now() + std::chrono::milliseconds(options.compile_deadline_ms);
  }
  CompileResult result;
  try {
    result = compile(job, limits);
  } catch (const Error& error) {
    ++counts.compile_failures;
    options.log(LogLevel::info, "compiling {} failed: {}", hex, status_name(error.status()));
    throw;
  }
  ++counts.compiles;
  counts.compile_microseconds += static_cast<unsigned long long>(result.milliseconds * 1000);
  Cubin cubin = made_from(key, variant, request.case_line, std::move(result));
  options.log(LogLevel::info,
              "compiled {} in {:.0f} ms: {} registers, {} spill bytes, {} bytes of shared memory",
              hex, cubin.row.compile_ms, cubin.row.registers, cubin.row.spill_bytes,
              cubin.row.smem_bytes);
  store(cubin, request.pinned);
  if (request.accept && !request.accept(cubin)) {
    fail(Status::driver,
         "kernel {}, compiled just now by NVRTC {} for {}, is refused by the CUDA driver: the "
         "driver is older than this "
         "NVRTC. Update the driver or name an older NVRTC in QROW_NVRTC.",
         hex, cubin.row.nvrtc_build, variant.arch->name);
  }
  return remember(std::move(cubin), request.pinned);
}

// A cache that cannot store is not a failure, except to prewarm, whose purpose it is.
void KernelProvider::State::store(const Cubin& cubin, bool pinned) {
  KernelStore* user = layers.user();
  if (user == nullptr || options.read_only) return;
  KernelRow row = cubin.row;
  row.pinned = pinned;
  std::string reason;
  if (user->put(row, &reason)) return;
  ++counts.cache_errors;
  if (pinned)
    fail(Status::cache, "kernel {} could not be stored in '{}': {}", cubin.key.digest.hex(),
         user->path(), reason);
  options.log(LogLevel::warning,
              "kernel {} could not be stored and lives as long as this context: {}",
              cubin.key.digest.hex(), reason);
}

// A prewarm makes thousands of kernels and needs none of them again.
KernelProvider::State::Found KernelProvider::State::remember(Cubin&& cubin, bool pinned) {
  auto found = std::make_shared<const Cubin>(std::move(cubin));
  if (pinned) return found;
  std::lock_guard lock(mutex);
  memory[found->key.digest] = found;
  return found;
}

KernelProvider::KernelProvider(const ProviderOptions& options) {
  check_environment();
  state_ = std::make_unique<State>(options);
}
KernelProvider::~KernelProvider() = default;

std::shared_ptr<const Cubin> KernelProvider::get(const Request& request) {
  const Key key = make_key(*request.variant, template_digest(request.variant->family));
  State::Passed passed;
  if (auto found = state_->search(key, request, passed)) return found;
  if (state_->cache_only() || !request.may_compile) {
    state_->count_miss(passed);
    if (request.pinned) state_->refuse_to_prewarm();
    refuse(*request.variant, request.case_line,
           state_->cache_only() ? fmt::format("is not in the cache, and {} forbids compiling",
                                              state_->what_forbids())
                                : "is not in the cache, and this request must not compile");
  }
  const auto cancelled = [&request] { return request.cancel != nullptr && request.cancel->load(); };
  const SingleFlight::Ticket ticket = state_->flight.enter(key.digest, kFlightWaitMs, cancelled);
  if (cancelled())
    fail(Status::cancelled, "cancelled before kernel {} was compiled", key.digest.hex());
  // Another caller may have made it since the first look, whether or not this one had to wait.
  State::Passed ignored;
  if (auto found = state_->search(key, request, ignored)) return found;
  state_->count_miss(passed);
  return state_->compile_now(key, request);
}

std::unique_ptr<Cubin> KernelProvider::peek(const Variant& variant) {
  const Key key = make_key(variant, template_digest(variant.family));
  std::vector<Layers::Hit> hits = state_->layers.find(key.digest, key.text);
  if (hits.empty()) return nullptr;
  Layers::Hit& hit = hits.front();
  hit.row.cubin.clear();
  return std::make_unique<Cubin>(
      Cubin{key, std::move(hit.row), hit.from_seed ? Source::seed : Source::user});
}

void KernelProvider::refuse(const Variant& variant, const std::string& case_line,
                            const std::string& why) {
  ++state_->counts.not_cached;
  const Key key = make_key(variant, template_digest(variant.family));
  fail(Status::not_cached, "kernel {} ({} for {}) {}. {}", key.digest.hex(), variant.family,
       variant.arch->name, why,
       case_line.empty() ? "It belongs to the tools, which make it when they may compile"
                         : fmt::format("Make it beforehand: qrow prewarm '{}' --arch {}", case_line,
                                       variant.arch->name));
}

bool KernelProvider::cache_only() const { return state_->cache_only(); }
void KernelProvider::count_memory_hit() { ++state_->counts.memory_hits; }
const Log& KernelProvider::log() const { return state_->options.log; }
const ProviderCounts& KernelProvider::counts() const { return state_->counts; }
Layers& KernelProvider::layers() { return state_->layers; }

}  // namespace qrow
