// The host side of combine: merges partial results of every attention family that splits KV.
#include "jit/family.hpp"
#include "templates/combine/config.cuh"

namespace qrow {
namespace {

constexpr int kNumWarps[] = {8, 16, 4};
constexpr int kWarpsPerColumn[] = {1, 2, 4, 8, 16};
constexpr AxisInfo kAxes[] = {
    {"num_warps", kNumWarps, "warps per block"},
    {"warps_per_column", kWarpsPerColumn, "warps that share one column's parts"},
};
static_assert(sizeof(CombineTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

CombineTuning tuning_of(const Tuning& values) { return {values[0], values[1]}; }

class CombineFamily final : public Family {
 public:
  std::string_view name() const override { return "combine"; }
  Role role() const override { return Role::combine; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxes; }

  Support supports(const Spec& spec, const Arch&) const override {
    if (spec.head_dim_v != 64 && spec.head_dim_v != 128 && spec.head_dim_v != 256) {
      return Support::no("d {} of V: combine has 64, 128 and 256", spec.head_dim_v);
    }
    return Support::yes();
  }
  int rank(const Spec&, const Arch&, const Bucket&) const override { return 0; }

  // Few units mean many parts of each and few blocks: then a whole large block shares a column.
  // With 16 units or more a unit has at most a few dozen parts, which one warp takes in a few
  // rounds.
  Tuning default_tuning(const Spec& spec, const Arch&, const Bucket& bucket) const override {
    if (bucket.batch * spec.num_kv_heads < 16) return {16, 16};
    return {8, 1};
  }

  Support legal(const Spec&, const Tuning& values, const Arch&) const override {
    const CombineTuning t = tuning_of(values);
    if (t.num_warps % t.warps_per_column != 0) {
      return Support::no("{} warps do not divide into {} a column", t.num_warps,
                         t.warps_per_column);
    }
    return Support::yes();
  }

  Variant variant(const Spec& spec, const Tuning& values, const Arch& arch) const override {
    Variant v;
    v.family = name();
    v.spec_type = "CombineSpec";
    v.tuning_type = "CombineTuning";
    v.params_type = "DecodeParams";
    v.spec = {
        {"out_dtype", spec.out_dtype}, {"head_dim", spec.head_dim_v}, {"group_size", spec.group()}};
    for (std::size_t i = 0; i < std::size(kAxes); ++i)
      v.tuning.push_back({kAxes[i].name, values[i]});
    v.arch = &arch;
    v.threads = num_threads(tuning_of(values));
    return v;
  }

  Geometry geometry(const Spec& spec, const Tuning& values, const Arch&) const override {
    Geometry g;
    g.threads = num_threads(tuning_of(values));
    g.columns_per_tile = columns_per_block(tuning_of(values));
    g.head_dim_v = spec.head_dim_v;
    g.splits_kv = false;
    return g;
  }
};

}  // namespace

const Family& combine_family() {
  static const CombineFamily family;
  return family;
}

}  // namespace qrow
