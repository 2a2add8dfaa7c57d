#include "runtime/tools/prewarm_report.hpp"

#include <algorithm>

namespace qrow {
namespace {

// The fields that every item has; the others follow from what became of it.
JsonObject item_record(const PrewarmItem& item) {
  JsonObject record;
  record.add("case", item.case_line).add("key", item.key.digest.hex()).add("arch", item.arch->name);
  return record.add("family", item.family);
}

void add_resources(int registers, int spill_bytes, int stack_bytes, int smem_bytes,
                   long long cubin_bytes, double ms, const char* source, JsonObject* record) {
  record->add("regs", registers).add("spill_bytes", spill_bytes).add("stack_bytes", stack_bytes);
  record->add("smem_bytes", smem_bytes)
      .add("cubin_bytes", cubin_bytes)
      .add("ms", ms)
      .add("source", source);
}

std::string short_key(const PrewarmItem& item) { return item.key.digest.hex().substr(0, 8); }

// Dispatch says "no kernel family can run 'heads=...' on sm_90a: reasons"; the reasons alone tell
// refusals apart.
std::string without_spec(const std::string& reason, const std::string& arch) {
  std::string marker = fmt::format("' on {}: ", arch);
  std::size_t at = reason.find(marker);
  return at == std::string::npos ? reason : reason.substr(at + marker.size());
}

std::string describe_group(const LayerGroup& group) {
  std::string text = fmt::format("{} x {}", group.layers, group.kind);
  if (!group.refusal.empty()) return text;
  text += fmt::format(" heads={}/{} d={}", group.num_q_heads, group.num_kv_heads, group.head_dim);
  if (group.head_dim_v != group.head_dim) text += fmt::format("/{}", group.head_dim_v);
  if (group.window > 0) text += fmt::format(" window={}", group.window);
  if (group.chunk > 0) text += fmt::format(" chunk={}", group.chunk);
  if (group.softcap > 0) text += fmt::format(" softcap={}", group.softcap);
  if (group.sinks) text += " sinks=on";
  return text;
}

JsonObject model_record(const Model& model) {
  std::vector<std::string> groups;
  for (const LayerGroup& group : model.groups) groups.push_back(describe_group(group));
  JsonObject record;
  record.add("model", model.name).add("model_type", model.type).add("layers", model.num_layers);
  record.add("groups", groups).add("layers_without_softmax_attention", model.other_layers);
  return record.add("draft_layers", model.draft_layers).add("notes", model.notes);
}

}  // namespace

PrewarmReport::PrewarmReport(Output& output, const std::vector<Model>& models) : output_(output) {
  for (const Model& model : models) describe(model);
}

void PrewarmReport::describe(const Model& model) {
  models_.push_back(model_record(model));
  output_.detail("{}: {} layers", model.name, model.num_layers);
  for (const LayerGroup& group : model.groups) output_.detail("  {}", describe_group(group));
  if (model.other_layers > 0)
    output_.detail("  {} x no softmax attention, not qrow's", model.other_layers);
  if (model.draft_layers > 0)
    output_.detail("  {} multi-token prediction layer(s): expect 2 to 5 rows per request",
                   model.draft_layers);
  for (const std::string& note : model.notes) output_.note("{}: {}", model.name, note);
  for (const LayerGroup& group : model.groups)
    if (!group.refusal.empty())
      refused(fmt::format("{} ({})", model.name, describe_group(group)), "any", group.refusal);
}

void PrewarmReport::refused(const std::string& case_line, const std::string& arch,
                            const std::string& reason) {
  if (!told_.emplace(case_line, arch).second) return;
  ++num_refused_;
  JsonObject record;
  output_.record(record.add("case", case_line).add("arch", arch).add("refused", reason));
  std::string general = without_spec(reason, arch);
  auto same = std::find_if(refusals_.begin(), refusals_.end(),
                           [&](const Refusal& known) { return known.reason == general; });
  if (same == refusals_.end()) same = refusals_.insert(same, {general, case_line, {}, 0});
  ++same->count;
  same->archs.insert(arch);
}

void PrewarmReport::tell_refused() {
  for (const Refusal& refusal : refusals_) {
    std::string archs;
    for (const std::string& arch : refusal.archs) archs += (archs.empty() ? "" : ",") + arch;
    output_.line("refused   {} spec(s), the first '{}', on {}: {}", refusal.count,
                 refusal.first_case, archs, refusal.reason);
  }
}

void PrewarmReport::done(const PrewarmOutcome& outcome) {
  const PrewarmItem& item = *outcome.item;
  if (outcome.status == Status::ok) {
    JsonObject record = item_record(item);
    add_resources(outcome.registers, outcome.spill_bytes, outcome.stack_bytes, outcome.smem_bytes,
                  outcome.cubin_bytes, outcome.compile_ms, source_name(outcome.source), &record);
    output_.record(record);
    if (outcome.source != Source::memory)
      output_.detail(
          "{:<9} {:<7} {:<11} {}  {:>3} regs {:>3} B spilled {:>8} smem {:>8} {:>6.0f} ms  {}",
          source_name(outcome.source), item.arch->name, item.family, short_key(item),
          outcome.registers, outcome.spill_bytes, format_bytes(outcome.smem_bytes),
          format_bytes(outcome.cubin_bytes), outcome.compile_ms, item.case_line);
  } else if (outcome.status != Status::cancelled) {
    JsonObject record = item_record(item);
    output_.record(record.add("status", status_name(outcome.status)).add("error", outcome.message));
    // A compiler's log is long, and one cause often fails many kernels: each text is told once.
    if (told_failures_.insert(outcome.message).second)
      output_.error("failed    {:<7} {:<11} {}  {}: {}", item.arch->name, item.family,
                    short_key(item), item.case_line, outcome.message);
  }
  output_.progress(outcome.done, outcome.count,
                   fmt::format("{} {}", item.arch->name, item.case_line));
}

void PrewarmReport::totals(const PrewarmTotals& totals) {
  int reached = totals.compiled + totals.hits + totals.memory + totals.failed;
  JsonObject numbers;
  numbers.add("items", totals.items).add("compiled", totals.compiled).add("hits", totals.hits);
  numbers.add("memory", totals.memory).add("refused", num_refused_).add("failed", totals.failed);
  numbers.add("cancelled", totals.cancelled).add("not_reached", totals.items - reached);
  numbers.add("cubin_bytes", totals.cubin_bytes).add("seconds", totals.seconds);
  if (!models_.empty()) numbers.add("models", models_);
  JsonObject record;
  output_.record(record.add("totals", numbers));
  output_.line(
      "{} kernels: {} compiled, {} found in the cache, {} the same as an earlier one, {} failed; "
      "{} refused; "
      "{} in {}",
      totals.items, totals.compiled, totals.hits, totals.memory, totals.failed, num_refused_,
      format_bytes(totals.cubin_bytes), format_duration(totals.seconds));
  if (totals.failed > 0)
    output_.error("prewarm: {} of {} kernels failed; the first: {}", totals.failed, totals.items,
                  totals.first_message.substr(0, totals.first_message.find('\n')));
  if (totals.cancelled)
    output_.error(
        "prewarm: interrupted after {} of {} kernels; what was compiled is kept, the same line "
        "goes on",
        reached, totals.items);
}

void PrewarmReport::planned(const PrewarmItem& item, const Cubin* stored, bool repeats) {
  ++planned_;
  const char* source = repeats             ? "memory"
                       : stored == nullptr ? "missing"
                                           : source_name(stored->source);
  if (stored != nullptr) ++present_;
  if (stored == nullptr && !repeats) ++missing_;
  JsonObject record = item_record(item);
  if (stored != nullptr)
    add_resources(stored->row.registers, stored->row.spill_bytes, stored->row.stack_bytes,
                  stored->row.smem_bytes, stored->row.cubin_bytes, 0, source, &record);
  else
    record.add("source", source);
  output_.record(record.add("dry_run", true));
  if (!repeats)
    output_.detail("{:<9} {:<7} {:<11} {}  {}", source, item.arch->name, item.family,
                   short_key(item), item.case_line);
}

void PrewarmReport::planned_totals() {
  JsonObject numbers, record;
  numbers.add("items", planned_)
      .add("missing", missing_)
      .add("hits", present_)
      .add("refused", num_refused_);
  if (!models_.empty()) numbers.add("models", models_);
  output_.record(record.add("totals", numbers));
  output_.line(
      "{} kernels: {} would be compiled, {} are in the cache, {} the same as an earlier one; {} "
      "refused",
      planned_, missing_, present_, planned_ - missing_ - present_, num_refused_);
}

}  // namespace qrow
