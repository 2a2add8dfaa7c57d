// `qrow explain`: which family and tuning serve a case, why the others do not, and whether its
// kernels are in the cache.
#include <algorithm>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/kernel_rows.hpp"
#include "runtime/tools/shared_arguments.hpp"
#include "runtime/tools/workbench_cases.hpp"
#include "templates/sources.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow explain CASE [--arch LIST]

Says for each arch which kernel family serves the case and why the others do not, the tuning and where it comes from, and
for each kernel that a call may launch whether it is in the cache. For a miss it names the nearest stored kernel and the
words in which the two keys differ. A case with a workload (batch=, len=) is one bucket; without one every pick of every
bucket is told. Compiles nothing. Exit code 1 if no family can serve the case on one of the archs.

example: qrow explain "heads=64/8 rows=4 kv=e4m3 batch=128 len=2048" --arch h200
)";

constexpr std::size_t kMostDifferences = 8;  // shown in text

struct Pick {
  Bucket bucket;  // the first that makes this choice
  Choice choice;
};

std::vector<Pick> picks_of(const Case& c, const Arch& arch) {
  std::vector<Bucket> buckets;
  if (c.has_workload()) {
    buckets.push_back(bucket_of(c.spec, c.batch, c.max_len(), 0, c.window));
  } else {
    buckets = all_buckets(c.spec);
  }
  std::vector<Pick> picks;
  for (const Bucket& bucket : buckets) {
    Choice choice = choose(c.spec, arch, bucket, c.family, c.tuning);
    bool known = std::any_of(picks.begin(), picks.end(),
                             [&](const Pick& pick) { return same_kernels(pick.choice, choice); });
    if (!known) picks.push_back({bucket, std::move(choice)});
  }
  return picks;
}

const char* tuning_source_text(TuningSource source) {
  switch (source) {
    case TuningSource::exact:
      return "tuned";
    case TuningSource::nearest:
      return "nearest record";
    case TuningSource::forced:
      return "forced";
    default:
      return "default";
  }
}

// The stored kernel of the same family whose key differs in the fewest words.
JsonObject explain_miss(const Key& key, const std::vector<KernelRow>& rows,
                        const std::string& family, Output& output) {
  const KernelRow* nearest = nullptr;
  std::vector<KeyDifference> fewest;
  for (const KernelRow& row : rows) {
    if (row.family != family) continue;
    std::vector<KeyDifference> differences = key_differences(key.text, row.key_text);
    if (nearest != nullptr && differences.size() >= fewest.size()) continue;
    nearest = &row;
    fewest = std::move(differences);
  }
  JsonObject record;
  if (nearest == nullptr) {
    output.line("           the cache holds no kernel of family {}", family);
    return record;
  }
  output.line("           nearest stored key {} ({} {}) differs in",
              nearest->key.hex().substr(0, 8), nearest->arch, nearest->case_line);
  std::vector<JsonObject> fields;
  for (const KeyDifference& difference : fewest) {
    if (fields.size() < kMostDifferences)
      output.line("             {}: {} wanted, {} stored", difference.field,
                  difference.asked.empty() ? "absent" : difference.asked,
                  difference.stored.empty() ? "absent" : difference.stored);
    fields.emplace_back()
        .add("field", difference.field)
        .add("wanted", difference.asked)
        .add("stored", difference.stored);
  }
  if (fewest.size() > kMostDifferences)
    output.line("             and {} more words", fewest.size() - kMostDifferences);
  return record.add("key", nearest->key.hex())
      .add("case", nearest->case_line)
      .add("differs", fields);
}

JsonObject explain_kernel(const Variant& variant, KernelProvider& provider, Output& output) {
  Key key = make_key(variant, template_digest(variant.family));
  JsonObject record;
  record.add("family", variant.family).add("key", key.digest.hex());
  std::unique_ptr<Cubin> stored = provider.peek(variant);
  if (stored != nullptr) {
    const KernelRow& row = stored->row;
    output.line(
        "  hit      {} {} in the {} cache: {} registers, {} bytes spilled, {} smem, made by NVRTC "
        "{}",
        variant.family, key.digest.hex().substr(0, 8), source_name(stored->source), row.registers,
        row.spill_bytes, format_bytes(row.smem_bytes), row.nvrtc_build);
    record.add("hit", true).add("source", source_name(stored->source)).add("regs", row.registers);
    return record.add("spill_bytes", row.spill_bytes)
        .add("smem_bytes", row.smem_bytes)
        .add("nvrtc", row.nvrtc_build);
  }
  output.line("  miss     {} {}: the first call compiles it", variant.family,
              key.digest.hex().substr(0, 8));
  std::vector<KernelRow> rows;
  KernelStore* user = provider.layers().user();
  if (user != nullptr) rows = user->list("", variant.family);
  for (const std::unique_ptr<KernelStore>& seed : provider.layers().seeds()) {
    std::vector<KernelRow> more = seed->list("", variant.family);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  record.add("hit", false);
  return record.add("nearest", explain_miss(key, rows, variant.family, output));
}

std::vector<JsonObject> explain_families(const Case& c, const Arch& arch, const Bucket& bucket,
                                         Output& output) {
  std::vector<JsonObject> records;
  for (const Verdict& verdict : ask_families(c.spec, arch, bucket)) {
    std::string answer = verdict.support ? fmt::format("can serve this, rank {}", verdict.rank)
                                         : "cannot: " + verdict.support.reason;
    output.line("  family   {}: {}", verdict.family->name(), answer);
    JsonObject& record = records.emplace_back();
    record.add("family", verdict.family->name()).add("able", verdict.support.able);
    if (verdict.support) {
      record.add("rank", verdict.rank);
    } else {
      record.add("reason", verdict.support.reason);
    }
  }
  return records;
}

JsonObject explain_pick(const Case& c, const Arch& arch, const Pick& pick, KernelProvider& provider,
                        Output& output) {
  std::string tuning = format_tuning(*pick.choice.family, pick.choice.tuning);
  const char* source = tuning_source_text(pick.choice.source);
  output.line("  pick     {} for batch up to {}, length up to {}, {} rows",
              pick.choice.family->name(), pick.bucket.batch, pick.bucket.kv_len, pick.bucket.rows);
  output.line("  tuning   {} ({})", tuning, source);
  JsonObject bucket, record;
  bucket.add("batch", pick.bucket.batch)
      .add("kv_len", pick.bucket.kv_len)
      .add("rows", pick.bucket.rows);
  record.add("family", pick.choice.family->name()).add("bucket", bucket).add("tuning", tuning);
  record.add("tuning_source", source);
  std::vector<JsonObject> kernels;
  for (const Variant& variant : variants_of(c.spec, pick.choice, arch))
    kernels.push_back(explain_kernel(variant, provider, output));
  return record.add("kernels", kernels);
}

bool explain(const Case& c, const Arch& arch, KernelProvider& provider, Output& output) {
  output.line("{} on {}", format_case(c), arch.name);
  Bucket bucket = bucket_of(c.spec, c.batch, c.max_len(), 0, c.window);
  JsonObject record;
  record.add("case", format_case(c)).add("arch", arch.name);
  record.add("families", explain_families(c, arch, bucket, output));
  std::vector<JsonObject> picks;
  bool able = true;
  try {
    for (const Pick& pick : picks_of(c, arch))
      picks.push_back(explain_pick(c, arch, pick, provider, output));
  } catch (const Error& error) {
    if (error.status() != Status::unsupported) throw;
    able = false;
    output.line("  nobody   no family can serve this case");
  }
  record.add("able", able).add("picks", picks);
  output.record(record);
  return able;
}

int run(Arguments& arguments, Output& output) {
  ProviderOptions options = provider_options(arguments, output);
  const std::vector<std::string> arch_names = arguments.list("--arch");
  const std::vector<Case> cases = cases_from(arguments.words(), {});
  const std::vector<const Arch*> archs = archs_from(arch_names);
  // A look makes no file.
  options.cache_off = !file_exists(resolve_cache_path(options.cache_path));
  KernelProvider provider(options);
  bool all_able = true;
  for (const Case& c : cases)
    for (const Arch* arch : archs) all_able &= explain(c, *arch, provider, output);
  return all_able ? kExitDone : kExitFailed;
}

}  // namespace

extern const Command kExplainCommand;
const Command kExplainCommand = {
    "explain", "which kernels serve a case, why, and are they in the cache", kUsage, run};

}  // namespace qrow
