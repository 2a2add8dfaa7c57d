// `qrow explain`: which family and tuning serve a case, why the others do not, and whether its
// kernels are in the cache.
#include <algorithm>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/launch.hpp"
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
bucket is told. Compiles nothing. Exit code 1 if the case cannot be served on one of the archs: no family can, or its
call would be refused.

example: qrow explain "heads=64/8 rows=4 kv=e4m3 batch=128 len=2048" --arch h200
)";

constexpr std::size_t kMostDifferences = 8;  // shown in text

// What is told of one case on one arch. Printed only once every answer is whole.
struct Answer {
  std::vector<std::string> lines;
  JsonObject record;
  bool able = true;

  template <typename... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    lines.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
};

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
                        const std::string& family, Answer& answer) {
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
    answer.line("           the cache holds no kernel of family {}", family);
    return record;
  }
  answer.line("           nearest stored key {} ({} {}) differs in",
              nearest->key.hex().substr(0, 8), nearest->arch, nearest->case_line);
  std::vector<JsonObject> fields;
  for (const KeyDifference& difference : fewest) {
    if (fields.size() < kMostDifferences)
      answer.line("             {}: {} wanted, {} stored", difference.field,
                  difference.asked.empty() ? "absent" : difference.asked,
                  difference.stored.empty() ? "absent" : difference.stored);
    fields.emplace_back()
        .add("field", difference.field)
        .add("wanted", difference.asked)
        .add("stored", difference.stored);
  }
  if (fewest.size() > kMostDifferences)
    answer.line("             and {} more words", fewest.size() - kMostDifferences);
  return record.add("key", nearest->key.hex())
      .add("case", nearest->case_line)
      .add("differs", fields);
}

JsonObject explain_kernel(const Variant& variant, KernelProvider& provider, Answer& answer) {
  Key key = make_key(variant, template_digest(variant.family));
  JsonObject record;
  record.add("family", variant.family).add("key", key.digest.hex());
  std::unique_ptr<Cubin> stored = provider.peek(variant);
  if (stored != nullptr) {
    const KernelRow& row = stored->row;
    answer.line(
        "  hit      {} {} in the {} cache: {} registers, {} bytes spilled, {} smem, made by NVRTC "
        "{}",
        variant.family, key.digest.hex().substr(0, 8), source_name(stored->source), row.registers,
        row.spill_bytes, format_bytes(row.smem_bytes), row.nvrtc_build);
    record.add("hit", true).add("source", source_name(stored->source)).add("regs", row.registers);
    return record.add("spill_bytes", row.spill_bytes)
        .add("smem_bytes", row.smem_bytes)
        .add("nvrtc", row.nvrtc_build);
  }
  answer.line("  miss     {} {}: {}", variant.family, key.digest.hex().substr(0, 8),
              provider.cache_only()
                  ? "a call is NOT_CACHED, because QROW_JIT=cache_only forbids compiling"
                  : "the first call compiles it");
  std::vector<KernelRow> rows;
  KernelStore* user = provider.layers().user();
  if (user != nullptr) rows = user->list("", variant.family);
  for (const std::unique_ptr<KernelStore>& seed : provider.layers().seeds()) {
    std::vector<KernelRow> more = seed->list("", variant.family);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  record.add("hit", false);
  return record.add("nearest", explain_miss(key, rows, variant.family, answer));
}

std::vector<JsonObject> explain_families(const Case& c, const Arch& arch, const Bucket& bucket,
                                         Answer& answer) {
  std::vector<JsonObject> records;
  for (const Verdict& verdict : ask_families(c.spec, arch, bucket)) {
    std::string word = verdict.support ? fmt::format("can serve this, rank {}", verdict.rank)
                                       : "cannot: " + verdict.support.reason;
    answer.line("  family   {}: {}", verdict.family->name(), word);
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
                        Answer& answer) {
  std::string tuning = format_tuning(*pick.choice.family, pick.choice.tuning);
  const char* source = tuning_source_text(pick.choice.source);
  answer.line("  pick     {} for batch up to {}, length up to {}, {} rows",
              pick.choice.family->name(), pick.bucket.batch, pick.bucket.kv_len, pick.bucket.rows);
  answer.line("  tuning   {} ({})", tuning, source);
  JsonObject bucket, record;
  bucket.add("batch", pick.bucket.batch)
      .add("kv_len", pick.bucket.kv_len)
      .add("rows", pick.bucket.rows);
  record.add("family", pick.choice.family->name()).add("bucket", bucket).add("tuning", tuning);
  record.add("tuning_source", source);
  std::vector<JsonObject> kernels;
  for (const Variant& variant : variants_of(c.spec, pick.choice, arch))
    kernels.push_back(explain_kernel(variant, provider, answer));
  return record.add("kernels", kernels);
}

// Why the call itself would be refused, whatever its spec; "" if it would not. The words of the
// call's own refusal.
std::string refusal_of(const Case& c) {
  if (c.csr) return fmt::format("table=csr: {}", kNoCsrTables);
  if (!c.ragged.empty()) return fmt::format("ragged=: {}", kNoRaggedRows);
  if (c.scale_inline) return fmt::format("scale_at=inline: {}", kNoTokenScales);
  return {};
}

void refuse_splits(const Case& c, const Arch& arch, const Choice& choice) {
  if (c.splits <= 1 || choice.family->geometry(c.spec, choice.tuning, arch).splits_kv) return;
  fail(Status::unsupported, "{} KV splits were forced, but family {} does not split", c.splits,
       choice.family->name());
}

Answer explain(const Case& c, const Arch& arch, KernelProvider& provider) {
  Answer answer;
  answer.line("{} on {}", format_case(c), arch.name);
  Bucket bucket = bucket_of(c.spec, c.batch, c.max_len(), 0, c.window);
  answer.record.add("case", format_case(c)).add("arch", arch.name);
  answer.record.add("families", explain_families(c, arch, bucket, answer));
  std::vector<JsonObject> picks;
  std::string refusal = refusal_of(c);
  if (refusal.empty()) {
    try {
      for (const Pick& pick : picks_of(c, arch)) {
        refuse_splits(c, arch, pick.choice);
        picks.push_back(explain_pick(c, arch, pick, provider, answer));
      }
    } catch (const Error& error) {
      if (error.status() != Status::unsupported) throw;
      refusal = error.what();
      picks.clear();
      answer.line("  nobody   no family can serve this case");
    }
  } else {
    answer.line("  refused  {}", refusal);
  }
  answer.able = refusal.empty();
  answer.record.add("able", answer.able);
  if (!answer.able) answer.record.add("refused", refusal);
  answer.record.add("picks", picks);
  return answer;
}

int run(Arguments& arguments, Output& output) {
  ProviderOptions options = provider_options(arguments, output);
  const std::vector<std::string> arch_names = arguments.list("--arch");
  const std::vector<Case> cases = cases_from(arguments.words(), {});
  const std::vector<const Arch*> archs = archs_from(arch_names);
  // A look makes no file.
  options.cache_off = !file_exists(resolve_cache_path(options.cache_path));
  KernelProvider provider(options);
  std::vector<Answer> answers;
  for (const Case& c : cases)
    for (const Arch* arch : archs) answers.push_back(explain(c, *arch, provider));
  bool all_able = true;
  for (const Answer& answer : answers) {
    for (const std::string& line : answer.lines) output.line("{}", line);
    output.record(answer.record);
    all_able &= answer.able;
  }
  return all_able ? kExitDone : kExitFailed;
}

}  // namespace

extern const Command kExplainCommand;
const Command kExplainCommand = {
    "explain", "which kernels serve a case, why, and are they in the cache", kUsage, run};

}  // namespace qrow
