// The host side of the instruction probe.
#include "templates/probe/family.hpp"

namespace qrow {
namespace {

constexpr int kWarps[] = {1};
constexpr AxisInfo kAxes[] = {{"num_warps", kWarps, "warps per block"}};
static_assert(sizeof(ProbeTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

class ProbeFamily final : public Family {
 public:
  std::string_view name() const override { return "probe"; }
  Role role() const override { return Role::tool; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxes; }
  Support supports(const Spec&, const Arch&) const override { return Support::yes(); }
  int rank(const Spec&, const Arch&, const Bucket&) const override { return 0; }
  Tuning default_tuning(const Spec&, const Arch&, const Bucket&) const override {
    return {kWarps[0]};
  }
  Support legal(const Spec&, const Tuning&, const Arch&) const override { return Support::yes(); }
  Variant variant(const Spec&, const Tuning&, const Arch& arch) const override {
    return probe_variant(ProbeOperation::mma_bf16, arch);
  }
  Geometry geometry(const Spec&, const Tuning&, const Arch&) const override {
    Geometry g;
    g.threads = num_threads(ProbeTuning{kWarps[0]});
    g.splits_kv = false;
    return g;
  }
};

}  // namespace

Variant probe_variant(ProbeOperation operation, const Arch& arch) {
  Variant v;
  v.family = "probe";
  v.spec_type = "ProbeSpec";
  v.tuning_type = "ProbeTuning";
  v.params_type = "ProbeParams";
  v.spec = {{"operation", static_cast<int>(operation)}};
  v.tuning = {{kAxes[0].name, kWarps[0]}};
  v.arch = &arch;
  v.threads = num_threads(ProbeTuning{kWarps[0]});
  return v;
}

const Family& probe_family() {
  static const ProbeFamily family;
  return family;
}

}  // namespace qrow
