// The host side of the pure-read kernel: `qrow bench` measures a device's read ceiling with it.
#include "jit/family.hpp"
#include "templates/read_ceiling/config.cuh"

namespace qrow {
namespace {

constexpr int kWarps[] = {4, 8};
constexpr int kVectors[] = {4, 2, 8};
constexpr int kStages[] = {4, 3, 2, 6};
constexpr int kBlocks[] = {2, 1, 3, 4};
constexpr AxisInfo kAxes[] = {
    {"num_warps", kWarps, "warps per block"},
    {"vectors_per_thread", kVectors, "16-byte copies that a thread issues per stage"},
    {"num_stages", kStages, "chunks in flight per block"},
    {"blocks_per_sm", kBlocks, "blocks that share an SM"},
};
static_assert(sizeof(ReadCeilingTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

ReadCeilingTuning tuning_of(const Tuning& t) { return {t[0], t[1], t[2], t[3]}; }

class ReadCeilingFamily final : public Family {
 public:
  std::string_view name() const override { return "read_ceiling"; }
  Role role() const override { return Role::tool; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxes; }
  Support supports(const Spec&, const Arch&) const override { return Support::yes(); }
  int rank(const Spec&, const Arch&, const Bucket&) const override { return 0; }
  Tuning default_tuning(const Spec&, const Arch&, const Bucket&) const override {
    return {kWarps[0], kVectors[0], kStages[0], kBlocks[0]};
  }

  Support legal(const Spec&, const Tuning& tuning, const Arch& arch) const override {
    constexpr int kReservedPerBlock = 1024;
    const int block = smem_bytes(ReadCeilingSpec{16}, tuning_of(tuning));
    const int all = (block + kReservedPerBlock) * tuning_of(tuning).blocks_per_sm;
    if (block > arch.smem_per_block_bytes) {
      return Support::no("{} bytes of shared memory, {} has {} per block", block, arch.name,
                         arch.smem_per_block_bytes);
    }
    if (all > arch.smem_per_sm_bytes) {
      return Support::no("{} bytes of shared memory per SM, {} has {}", all, arch.name,
                         arch.smem_per_sm_bytes);
    }
    return Support::yes();
  }

  Variant variant(const Spec&, const Tuning& tuning, const Arch& arch) const override {
    Variant v;
    v.family = name();
    v.spec_type = "ReadCeilingSpec";
    v.tuning_type = "ReadCeilingTuning";
    v.params_type = "ReadCeilingParams";
    v.spec = {{"chunk_alignment", 16}};
    for (std::size_t i = 0; i < std::size(kAxes); ++i)
      v.tuning.push_back({kAxes[i].name, tuning[i]});
    v.arch = &arch;
    v.threads = num_threads(tuning_of(tuning));
    v.smem_bytes = smem_bytes(ReadCeilingSpec{16}, tuning_of(tuning));
    v.has_smem_check = true;
    return v;
  }

  Geometry geometry(const Spec&, const Tuning& tuning, const Arch&) const override {
    Geometry g;
    g.threads = num_threads(tuning_of(tuning));
    g.smem_bytes = smem_bytes(ReadCeilingSpec{16}, tuning_of(tuning));
    g.blocks_per_sm = tuning_of(tuning).blocks_per_sm;
    g.splits_kv = false;
    return g;
  }
};

}  // namespace

const Family& read_ceiling_family() {
  static const ReadCeilingFamily family;
  return family;
}

}  // namespace qrow
