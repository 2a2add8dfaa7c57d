// The host side of the fill kernels: a tool of tests, benchmarks and the tuner.
#include "templates/synthetic/family.hpp"

#include "templates/common/dtype.cuh"
#include "templates/synthetic/config.cuh"

namespace qrow {
namespace {

constexpr int kWarps[] = {8, 4, 16};
constexpr AxisInfo kAxes[] = {
    {"num_warps", kWarps, "warps per block"},
};
static_assert(sizeof(SyntheticTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

Variant make_variant(SyntheticMode mode, int dtype, int num_warps, const Arch& arch) {
  Variant v;
  v.family = "synthetic";
  v.spec_type = "SyntheticSpec";
  v.tuning_type = "SyntheticTuning";
  v.params_type = "SyntheticParams";
  v.spec = {{"mode", static_cast<int>(mode)}, {"dtype", dtype}};
  v.tuning = {{kAxes[0].name, num_warps}};
  v.arch = &arch;
  v.threads = num_threads(SyntheticTuning{num_warps});
  return v;
}

class SyntheticFamily final : public Family {
 public:
  std::string_view name() const override { return "synthetic"; }
  Role role() const override { return Role::tool; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxes; }
  Support supports(const Spec&, const Arch&) const override { return Support::yes(); }
  int rank(const Spec&, const Arch&, const Bucket&) const override { return 0; }
  Tuning default_tuning(const Spec&, const Arch&, const Bucket&) const override {
    return {kWarps[0]};
  }
  Support legal(const Spec&, const Tuning&, const Arch&) const override { return Support::yes(); }

  // The kernel that fills this spec's KV.
  Variant variant(const Spec& spec, const Tuning& tuning, const Arch& arch) const override {
    return make_variant(SyntheticMode::normal, spec.kv_dtype, tuning[0], arch);
  }
  Geometry geometry(const Spec&, const Tuning& tuning, const Arch&) const override {
    Geometry g;
    g.threads = num_threads(SyntheticTuning{tuning[0]});
    g.splits_kv = false;
    return g;
  }
};

}  // namespace

Variant synthetic_normal(int dtype, const Arch& arch) {
  return make_variant(SyntheticMode::normal, dtype, kWarps[0], arch);
}
Variant synthetic_bytes(const Arch& arch) {
  return make_variant(SyntheticMode::bytes, 0, kWarps[0], arch);
}

const Family& synthetic_family() {
  static const SyntheticFamily family;
  return family;
}

}  // namespace qrow
