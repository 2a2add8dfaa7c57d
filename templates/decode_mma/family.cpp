// The host side of decode_mma: what it can do, its tuning space and its defaults.
#include <algorithm>
#include <array>
#include <span>

#include "jit/family.hpp"
#include "templates/decode_mma/config.cuh"

namespace qrow {
namespace {

constexpr int kTileTokens[] = {16, 32, 64};
constexpr int kNumStages[] = {3, 2, 4};
constexpr int kNumRings[] = {4, 8, 3, 2, 1};
constexpr int kRowGroups[] = {1, 2, 4};
constexpr int kColumnBlocks[] = {1, 2, 3, 4};
constexpr int kSlabTokens[] = {16, 32, 64};
constexpr int kBlocksPerSm[] = {2, 1, 3, 4};
constexpr int kMaxnreg[] = {0, 64, 80, 96, 128, 168, 208, 255};

struct Axis {
  AxisInfo info;
  int DecodeMmaTuning::*value;
};
constexpr Axis kAxes[] = {
    {{"tile_tokens", kTileTokens, "KV tokens per tile of a ring"}, &DecodeMmaTuning::tile_tokens},
    {{"num_stages", kNumStages, "tiles per ring"}, &DecodeMmaTuning::num_stages},
    {{"num_rings", kNumRings, "rings per block"}, &DecodeMmaTuning::num_rings},
    {{"row_groups", kRowGroups, "warps that share a ring"}, &DecodeMmaTuning::row_groups},
    {{"column_blocks", kColumnBlocks, "8-column blocks per warp"}, &DecodeMmaTuning::column_blocks},
    {{"slab_tokens", kSlabTokens, "KV tokens per softmax step"}, &DecodeMmaTuning::slab_tokens},
    {{"blocks_per_sm", kBlocksPerSm, "resident blocks that the grid counts on"},
     &DecodeMmaTuning::blocks_per_sm},
    {{"maxnreg", kMaxnreg, "register cap, 0: unset"}, &DecodeMmaTuning::maxnreg},
};
static_assert(sizeof(DecodeMmaTuning) == sizeof(int) * std::size(kAxes),
              "a tuning field has no row in kAxes");

constexpr auto kAxisInfos = [] {
  std::array<AxisInfo, std::size(kAxes)> infos;
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kAxes[i].info;
  return infos;
}();

DecodeMmaTuning tuning_of(const Tuning& values) {
  DecodeMmaTuning t{};
  for (std::size_t i = 0; i < std::size(kAxes); ++i) t.*kAxes[i].value = values[i];
  return t;
}

Tuning values_of(const DecodeMmaTuning& t) {
  Tuning values;
  for (const Axis& axis : kAxes) values.push_back(t.*axis.value);
  return values;
}

DecodeMmaSpec kernel_spec(const Spec& spec) {
  return {spec.q_dtype, spec.kv_dtype, spec.out_dtype, spec.head_dim, spec.group(), spec.page_size};
}

constexpr int kReservedSmemBytes = 1024;  // that the hardware takes per block

// Do the blocks that the grid counts on fit an SM together?
Support fits(const DecodeMmaSpec& spec, const DecodeMmaTuning& t, const Arch& arch) {
  const int bytes = smem_bytes(spec, t) + kPlanBytes;
  if (bytes > arch.smem_per_block_bytes) {
    return Support::no("{} bytes of shared memory, a block of {} has {}", bytes, arch.name,
                       arch.smem_per_block_bytes);
  }
  const int wanted = t.blocks_per_sm * (bytes + kReservedSmemBytes);
  if (wanted > arch.smem_per_sm_bytes) {
    return Support::no("{} blocks need {} bytes of shared memory, an SM of {} has {}",
                       t.blocks_per_sm, wanted, arch.name, arch.smem_per_sm_bytes);
  }
  const int warps = t.blocks_per_sm * num_warps(t);
  if (warps > arch.warps_per_sm)
    return Support::no("{} warps, an SM of {} has {}", warps, arch.name, arch.warps_per_sm);
  return Support::yes();
}

// A warp loads whole rows, 32 chunks of 16 bytes at a time, and begins where the swizzle does.
Support loads_evenly(const DecodeMmaSpec& spec, const DecodeMmaTuning& t) {
  const int rows = t.tile_tokens / t.row_groups;
  const int chunks = rows * (kv_row_bytes(spec) / 16);
  if (rows % 8 == 0 && chunks % 32 == 0) return Support::yes();
  return Support::no("{} warps cannot share the loads of {} tokens of {} bytes evenly",
                     t.row_groups, t.tile_tokens, kv_row_bytes(spec));
}

Support legal_for(const DecodeMmaSpec& spec, const DecodeMmaTuning& t, const Arch& arch) {
  if (t.tile_tokens % t.slab_tokens != 0) {
    return Support::no("slab_tokens {} does not divide tile_tokens {}", t.slab_tokens,
                       t.tile_tokens);
  }
  if (num_threads(t) > 1024)
    return Support::no("{} threads, a block has at most 1024", num_threads(t));
  constexpr int kRegisterFile = 65536;
  if (t.maxnreg * num_threads(t) * t.blocks_per_sm > kRegisterFile) {
    return Support::no("{} registers for each of {} threads, an SM has {}", t.maxnreg,
                       num_threads(t) * t.blocks_per_sm, kRegisterFile);
  }
  const Support loads = loads_evenly(spec, t);
  return loads ? fits(spec, t, arch) : loads;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// A good tuning for up to `columns` columns, found on an H200 (132 SMs, 227 KB a block). O alone
// takes head_dim / 2 registers per 8-column block and thread, which bounds the blocks of a warp;
// more columns share the ring's tiles. Slabs as long as the registers allow give each warp
// independent work; two blocks hide each other's start and merge. Columns beyond the last row
// become column tiles.
struct Shape {
  int columns;
  int tile_tokens, num_stages, num_rings, row_groups, column_blocks, slab_tokens, blocks_per_sm;
  int maxnreg = 0;
};
// The first row's cap is never reached: without one the compiler aims at 72 or 80 registers and
// spills.
constexpr Shape kShapes64x1[] = {{8, 32, 4, 4, 1, 1, 32, 2, 128},
                                 {16, 32, 4, 4, 1, 2, 32, 2},
                                 {32, 64, 2, 2, 2, 2, 64, 2},
                                 {64, 64, 3, 1, 4, 2, 64, 2}};
constexpr Shape kShapes64x2[] = {{8, 32, 3, 4, 1, 1, 32, 2},
                                 {16, 32, 3, 4, 1, 2, 32, 2},
                                 {32, 64, 2, 2, 2, 2, 64, 2},
                                 {64, 64, 3, 1, 4, 2, 64, 2}};
constexpr Shape kShapes128x1[] = {{8, 32, 3, 4, 1, 1, 32, 2},
                                  {16, 32, 3, 4, 1, 2, 32, 2},
                                  {24, 32, 3, 4, 1, 3, 16, 2},
                                  {32, 64, 2, 2, 2, 2, 64, 2},
                                  {64, 64, 3, 1, 4, 2, 64, 2}};
constexpr Shape kShapes128x2[] = {{8, 16, 3, 4, 1, 1, 16, 2},
                                  {16, 16, 3, 4, 1, 2, 16, 2},
                                  {24, 16, 3, 4, 1, 3, 16, 2},
                                  {32, 32, 3, 2, 2, 2, 32, 2},
                                  {64, 64, 3, 1, 4, 2, 64, 2}};
constexpr Shape kShapes256x1[] = {
    {8, 16, 3, 4, 1, 1, 16, 2}, {16, 16, 3, 4, 1, 2, 16, 2}, {32, 16, 3, 2, 2, 2, 16, 2}};
constexpr Shape kShapes256x2[] = {
    {8, 16, 3, 4, 1, 1, 16, 1}, {16, 16, 3, 4, 1, 2, 16, 1}, {32, 16, 3, 4, 2, 2, 16, 1}};

std::span<const Shape> shapes_of(const DecodeMmaSpec& spec) {
  const bool wide = size_of(DType(spec.kv_dtype)) == 2;
  if (spec.head_dim == 64) return wide ? std::span<const Shape>(kShapes64x2) : kShapes64x1;
  if (spec.head_dim == 128) return wide ? std::span<const Shape>(kShapes128x2) : kShapes128x1;
  return wide ? std::span<const Shape>(kShapes256x2) : kShapes256x1;
}

// The shapes were found on sm_90a. Before it, and with two terms of Q, the compiler needs more
// registers for the same, and without a cap takes fewer than it may.
void spare_registers(int head_dim, DecodeMmaTuning& t) {
  t.slab_tokens = std::min(t.slab_tokens, 32);
  if (head_dim > 128) t.column_blocks = 1;
  t.maxnreg = 255;
}

// Gives up what matters least until the blocks fit an SM of `arch`: stages, then blocks, then
// rings.
void shrink_to_fit(const DecodeMmaSpec& spec, DecodeMmaTuning& t, const Arch& arch) {
  while (!legal_for(spec, t, arch)) {
    if (t.num_stages > 2) {
      --t.num_stages;
    } else if (t.blocks_per_sm > 1) {
      --t.blocks_per_sm;
    } else if (t.num_rings > 1) {
      t.num_rings /= 2;
    } else if (t.tile_tokens > 16) {
      t.tile_tokens /= 2;
      t.slab_tokens = std::min(t.slab_tokens, t.tile_tokens);
    } else {
      return;
    }
  }
}

}  // namespace

class DecodeMmaFamily final : public Family {
 public:
  std::string_view name() const override { return "decode_mma"; }
  Role role() const override { return Role::attention; }
  int tuning_version() const override { return 1; }
  std::span<const AxisInfo> axes() const override { return kAxisInfos; }

  Support supports(const Spec& spec, const Arch&) const override {
    const auto kv = DType(spec.kv_dtype), q = DType(spec.q_dtype), out = DType(spec.out_dtype);
    if (q != DType::bf16 && q != DType::f16)
      return Support::no("q must be bf16 or f16 in this version");
    if (kv != DType::bf16 && kv != DType::f16 && kv != DType::e4m3) {
      return Support::no("kv must be bf16, f16 or e4m3 in this version");
    }
    if (out != DType::bf16 && out != DType::f16 && out != DType::f32)
      return Support::no("out must be bf16, f16 or f32");
    if (spec.head_dim != 64 && spec.head_dim != 128 && spec.head_dim != 256) {
      return Support::no("d {}: this version has 64, 128 and 256", spec.head_dim);
    }
    if (spec.head_dim_v != spec.head_dim) {
      return Support::no("d {}/{}: this version needs the same head_dim for K and V", spec.head_dim,
                         spec.head_dim_v);
    }
    return supports_features(spec);
  }

  int rank(const Spec&, const Arch&, const Bucket&) const override { return 100; }

  Tuning default_tuning(const Spec& spec, const Arch& arch, const Bucket& bucket) const override {
    const DecodeMmaSpec kernel = kernel_spec(spec);
    const std::span<const Shape> shapes = shapes_of(kernel);
    const int columns = bucket.rows * spec.group();
    const auto enough = [columns](const Shape& shape) { return columns <= shape.columns; };
    const auto found = std::find_if(shapes.begin(), shapes.end(), enough);
    const Shape& s = found == shapes.end() ? shapes.back() : *found;
    DecodeMmaTuning t{s.tile_tokens,   s.num_stages,  s.num_rings,     s.row_groups,
                      s.column_blocks, s.slab_tokens, s.blocks_per_sm, s.maxnreg};
    if (!arch.programmatic_launch || q_terms(kernel) > 1) spare_registers(spec.head_dim, t);
    shrink_to_fit(kernel, t, arch);
    return values_of(t);
  }

  Support legal(const Spec& spec, const Tuning& values, const Arch& arch) const override {
    return legal_for(kernel_spec(spec), tuning_of(values), arch);
  }

  Variant variant(const Spec& spec, const Tuning& values, const Arch& arch) const override {
    const DecodeMmaSpec s = kernel_spec(spec);
    const DecodeMmaTuning t = tuning_of(values);
    Variant v;
    v.family = name();
    v.spec_type = "DecodeMmaSpec";
    v.tuning_type = "DecodeMmaTuning";
    v.params_type = "DecodeParams";
    v.spec = {{"q_dtype", s.q_dtype},   {"kv_dtype", s.kv_dtype},     {"out_dtype", s.out_dtype},
              {"head_dim", s.head_dim}, {"group_size", s.group_size}, {"page_size", s.page_size}};
    for (const Axis& axis : kAxes) v.tuning.push_back({axis.info.name, t.*axis.value});
    v.arch = &arch;
    v.register_cap = t.maxnreg;
    v.threads = num_threads(t);
    v.smem_bytes = smem_bytes(s, t);
    v.has_smem_check = true;
    return v;
  }

  Geometry geometry(const Spec& spec, const Tuning& values, const Arch&) const override {
    const DecodeMmaTuning t = tuning_of(values);
    Geometry g;
    g.threads = num_threads(t);
    g.smem_bytes = smem_bytes(kernel_spec(spec), t);
    g.blocks_per_sm = t.blocks_per_sm;
    g.columns_per_tile = columns_per_tile(t);
    g.column_tiles = ceil_div(spec.columns(), g.columns_per_tile);
    g.head_dim_v = spec.head_dim_v;
    g.step_tokens = step_tokens(t);
    return g;
  }

 private:
  static Support supports_features(const Spec& spec) {
    if (spec.scale == Scale::token_head)
      return Support::no("scale=token_head is not built in this version");
    if (spec.mask != Mask::causal) return Support::no("only mask=causal is built in this version");
    if (spec.window) return Support::no("a sliding window is not built in this version");
    if (spec.softcap) return Support::no("softcap is not built in this version");
    if (spec.sinks) return Support::no("sinks are not built in this version");
    if (spec.partial) return Support::no("partial results are not built in this version");
    if (spec.numerics != Numerics::fast)
      return Support::no("only numerics=fast is built in this version");
    return Support::yes();
  }
};

const Family& decode_mma_family() {
  static const DecodeMmaFamily family;
  return family;
}

}  // namespace qrow
