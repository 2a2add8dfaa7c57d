#include "tests/nvrtc/grid.hpp"

#include <set>

#include "runtime/dispatch.hpp"
#include "templates/families.hpp"
#include "templates/sources.hpp"
#include "templates/synthetic/family.hpp"

namespace qrow {
namespace {

class GridBuilder {
 public:
  explicit GridBuilder(const Arch& arch) : arch_(arch) {}

  void add(const Variant& variant, const std::string& wanted_by) {
    Key key = make_key(variant, template_digest(variant.family));
    if (seen_.insert(key.digest).second)
      grid_.items.push_back({variant, std::move(key), wanted_by});
  }

  void add_case(const Case& c) {
    const std::string line = format_spec(c.spec);
    try {
      // Kernels of fewer rows than the spec's are those of another case.
      for (const Bucket& bucket : all_buckets(c.spec)) {
        if (bucket.rows == c.spec.max_rows) add_choice(c.spec, choose(c.spec, arch_, bucket), line);
      }
    } catch (const Error& error) {
      grid_.refusals.push_back(fmt::format("{}: {}", line, error.what()));
    }
  }

  void add_choice(const Spec& spec, const Choice& choice, const std::string& line) {
    for (const Variant& variant : variants_of(spec, choice, arch_)) add(variant, line);
  }

  // The kernels that serve tests and benchmarks, for one spec.
  void add_others(const Spec& spec) {
    for (const Family* family : families()) {
      const bool wanted = family->role() == Family::Role::tool || family->name() == "reference";
      if (!wanted || !family->supports(spec, arch_)) continue;
      const Tuning tuning = family->default_tuning(spec, arch_, Bucket{});
      add(family->variant(spec, tuning, arch_), std::string(family->name()));
    }
  }

  Grid take() { return std::move(grid_); }

 private:
  const Arch& arch_;
  Grid grid_;
  std::set<Digest> seen_;
};

}  // namespace

Grid make_grid(const std::vector<Case>& cases, const Arch& arch) {
  GridBuilder builder(arch);
  for (const Case& c : cases) builder.add_case(c);
  builder.add(synthetic_bytes(arch), "synthetic");
  for (const char* line : {"heads=8/1", "heads=8/1 d=256 q=f16 kv=e4m3"})
    builder.add_others(parse_case(line).spec);
  return builder.take();
}

std::vector<Case> wide_cases() {
  std::vector<Case> cases;
  for (const int group : {1, 4, 5, 6, 7, 8, 12, 16, 24}) {
    for (int rows = 1; rows <= 8; ++rows) {
      for (const int head_dim : {64, 128, 256}) {
        for (const char* kv : {"bf16", "e4m3"}) {
          cases.push_back(
              parse_case(fmt::format("heads={}/1 d={} rows={} kv={}", group, head_dim, rows, kv)));
        }
        cases.push_back(
            parse_case(fmt::format("heads={}/1 d={} rows={} q=f16 kv=f16", group, head_dim, rows)));
      }
    }
  }
  return cases;
}

bool has_twin(const Arch& arch) {
  for (const Arch& other : archs()) {
    if (&other == &arch) return false;
    bool same = other.major == arch.major &&
                other.smem_per_block_bytes == arch.smem_per_block_bytes &&
                other.smem_per_sm_bytes == arch.smem_per_sm_bytes &&
                other.warps_per_sm == arch.warps_per_sm;
    for (const ArchFeature& feature : arch_features())
      same = same && other.*feature.value == arch.*feature.value;
    if (same) return true;
  }
  return false;
}

}  // namespace qrow
