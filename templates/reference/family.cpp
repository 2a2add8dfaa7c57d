// The host side of the reference kernel: a tool that tests and `qrow run` compare against.
#include "jit/family.hpp"
#include "templates/common/dtype.cuh"
#include "templates/reference/config.cuh"

namespace qrow {
namespace {

constexpr int kWarps[] = {8, 4, 16};
constexpr AxisInfo kAxes[] = {
    {"num_warps", kWarps, "warps per block, which take the keys of one output row in turn"},
};
static_assert(sizeof(ReferenceTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

class ReferenceFamily final : public Family {
 public:
  std::string_view name() const override { return "reference"; }
  Role role() const override { return Role::tool; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxes; }

  Support supports(const Spec& spec, const Arch&) const override {
    if (spec.mask != Mask::causal && spec.mask != Mask::none)
      return Support::no("masks other than causal and none are not built");
    if (spec.window || spec.softcap || spec.sinks)
      return Support::no("window, softcap and sinks are not built");
    if (spec.scale == Scale::token_head)
      return Support::no("scales per token and head are not built");
    if (size_of(static_cast<DType>(spec.q_dtype)) == 1)
      return Support::no("8-bit queries are not built");
    return Support::yes();
  }
  int rank(const Spec&, const Arch&, const Bucket&) const override { return 0; }
  Tuning default_tuning(const Spec&, const Arch&, const Bucket&) const override {
    return {kWarps[0]};
  }

  // The warps' partial sums are static shared memory, of which a block has 48 KB on every
  // architecture.
  Support legal(const Spec& spec, const Tuning& tuning, const Arch&) const override {
    const int bytes = tuning[0] * (spec.head_dim_v + 2) * static_cast<int>(sizeof(double));
    if (bytes > 48 * 1024)
      return Support::no("{} bytes of static shared memory, 49152 is the limit", bytes);
    return Support::yes();
  }

  Variant variant(const Spec& spec, const Tuning& tuning, const Arch& arch) const override {
    Variant v;
    v.family = name();
    v.spec_type = "ReferenceSpec";
    v.tuning_type = "ReferenceTuning";
    v.params_type = "ReferenceParams";
    v.spec = {{"q_dtype", spec.q_dtype},
              {"kv_dtype", spec.kv_dtype},
              {"head_dim", spec.head_dim},
              {"head_dim_v", spec.head_dim_v}};
    v.tuning = {{kAxes[0].name, tuning[0]}};
    v.arch = &arch;
    v.threads = num_threads(ReferenceTuning{tuning[0]});
    return v;
  }

  Geometry geometry(const Spec& spec, const Tuning& tuning, const Arch&) const override {
    Geometry g;
    g.threads = num_threads(ReferenceTuning{tuning[0]});
    g.head_dim_v = spec.head_dim_v;
    g.splits_kv = false;
    return g;
  }
};

}  // namespace

const Family& reference_family() {
  static const ReferenceFamily family;
  return family;
}

}  // namespace qrow
