#include "runtime/launch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace qrow {
namespace {

constexpr long long kMostBlocks = std::numeric_limits<int>::max();  // of a grid's x
constexpr long long kMostBlocksY = 65535;
constexpr std::uintptr_t kWorkspaceAlignment = 256;

long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }

long long units_of(const Geometry& attention, const GridQuery& query) {
  return static_cast<long long>(query.batch) * query.num_kv_heads * attention.column_tiles;
}

// Pieces per unit: forced, or 1 where the family does not split.
int splits_of(const Geometry& attention, const GridQuery& query) {
  return attention.splits_kv ? query.splits : 1;
}

int resident_blocks(const Geometry& attention, int num_sms) {
  return std::max(1, num_sms * attention.blocks_per_sm);
}

int heads_abreast_of_query(const Geometry& attention, const GridQuery& query) {
  if (splits_of(attention, query) > 0) return 1;
  return query.heads_abreast > 0 ? query.heads_abreast
                                 : heads_abreast_on(attention, query.num_sms, query.num_kv_heads);
}

long long blocks_of(const Geometry& attention, const GridQuery& query, int heads_abreast) {
  const int splits = splits_of(attention, query);
  if (splits > 0) return std::max(1LL, units_of(attention, query) * splits);
  const long long steps = std::max(1LL, ceil_div(query.max_kv_len, attention.step_tokens));
  return std::max(1LL, num_blocks_of(resident_blocks(attention, query.num_sms),
                                     query.num_kv_heads * attention.column_tiles, heads_abreast,
                                     query.batch, steps));
}

void launch_kernel(LaunchTarget& target, const KernelLaunch& kernel, unsigned grid_x,
                   unsigned grid_y, bool overlap, const DecodeParams& params, CUstream stream) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = grid_x;
  config.gridDimY = grid_y;
  config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(kernel.threads);
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(kernel.smem_bytes);
  config.hStream = stream;
  config.attrs = overlap ? &attribute : nullptr;
  config.numAttrs = overlap ? 1 : 0;
  void* arguments[] = {const_cast<DecodeParams*>(&params)};
  const Driver& driver = *target.driver;
  driver.check(driver->cuLaunchKernelEx(&config, kernel.module->function(), arguments, nullptr),
               "cuLaunchKernelEx");
  target.launches.fetch_add(1, std::memory_order_relaxed);
}

void check_workspace(const void* workspace, std::size_t given, long long needed) {
  if (given < static_cast<std::size_t>(needed)) {
    fail(Status::workspace_too_small, "the workspace has {} bytes, this call needs {}", given,
         needed);
  }
  if (workspace == nullptr)
    fail(Status::invalid_argument, "the workspace is null: this call needs {} bytes", needed);
  if (reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    fail(Status::invalid_argument, "the workspace lies at {}: it must be aligned to {} bytes",
         workspace, kWorkspaceAlignment);
  }
}

// The functions are those of the CUDA context in which the kernels were loaded. A driver query:
// debug builds only.
void check_context([[maybe_unused]] const LaunchTarget& target,
                   [[maybe_unused]] const Launch& launch) {
#ifndef NDEBUG
  const Driver& driver = *target.driver;
  CUcontext current = nullptr;
  driver.check(driver->cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current != launch.attention.module->context()) {
    fail(Status::invalid_argument,
         "the current CUDA context is not that in which the kernels were loaded: make that one "
         "current before the call");
  }
#endif
}

}  // namespace

int heads_abreast_on(const Geometry& attention, int num_sms, int num_kv_heads) {
  return heads_abreast_of(resident_blocks(attention, num_sms),
                          num_kv_heads * attention.column_tiles);
}

Grid grid_of(const Geometry& attention, const Geometry* combine, const GridQuery& query) {
  if (query.splits > 1 && !attention.splits_kv) {
    fail(Status::unsupported, "{} KV splits were forced, but this kernel family does not split",
         query.splits);
  }
  Grid grid;
  grid.num_units = units_of(attention, query);
  grid.splits = splits_of(attention, query);
  grid.heads_abreast = heads_abreast_of_query(attention, query);
  const long long blocks = blocks_of(attention, query, grid.heads_abreast);
  if (blocks > kMostBlocks || grid.num_units > kMostBlocks) {
    fail(Status::invalid_argument,
         "batch {} times {} KV heads with {} splits is more than a grid holds ({} blocks)",
         query.batch, query.num_kv_heads, grid.splits, kMostBlocks);
  }
  grid.num_blocks = static_cast<int>(blocks);
  // One piece a unit, whether asked for or because no request is longer than a step, is written out
  // by its block.
  grid.combine = grid.splits > 1 || (grid.splits == 0 && query.max_kv_len > attention.step_tokens);
  if (!grid.combine) return grid;
  const long long records =
      grid.splits > 0 ? grid.num_units : num_merge_records(grid.num_units, blocks);
  const long long tiles =
      ceil_div(attention.columns_per_tile, std::max(1, combine->columns_per_tile));
  if (tiles > kMostBlocksY)
    fail(Status::internal, "combine needs {} blocks in y, {} is the limit", tiles, kMostBlocksY);
  grid.combine_x = static_cast<unsigned>(records);
  grid.combine_y = static_cast<unsigned>(tiles);
  return grid;
}

long long workspace_bytes_of(const Geometry& attention, const GridQuery& query) {
  const long long blocks = blocks_of(attention, query, heads_abreast_of_query(attention, query));
  return workspace_layout(blocks, attention.columns_per_tile, attention.head_dim_v).total;
}

DecodeParams decode_params(const Spec& spec, const CheckedArgs& checked, const Geometry& geometry,
                           const Grid& grid, void* workspace) {
  const qrow_args& args = *checked.args;
  const WorkspaceLayout layout =
      workspace_layout(grid.num_blocks, geometry.columns_per_tile, geometry.head_dim_v);
  auto* base = static_cast<char*>(workspace);
  DecodeParams p{};
  p.q = args.q;
  p.q_row_stride = args.q_row_stride;
  p.q_head_stride = args.q_head_stride;
  p.k = args.k;
  p.k_page_stride = args.k_page_stride;
  p.k_token_stride = args.k_token_stride;
  p.k_head_stride = args.k_head_stride;
  p.v = args.v;
  p.v_page_stride = args.v_page_stride;
  p.v_token_stride = args.v_token_stride;
  p.v_head_stride = args.v_head_stride;
  p.out = args.out;
  p.out_row_stride = args.out_row_stride;
  p.out_head_stride = args.out_head_stride;
  p.lse = args.lse;
  p.lse_row_stride = args.lse_row_stride;
  p.lse_head_stride = args.lse_head_stride;
  p.kv_lens = args.kv_lens;
  p.page_table = args.page_table;
  p.v_page_table = args.v_page_table != nullptr ? args.v_page_table : args.page_table;
  p.page_table_stride = args.page_table_stride;
  p.k_scale = args.k_scale;
  p.v_scale = args.v_scale;
  if (spec.scale == Scale::head) {
    p.k_scale_head_stride = args.k_scale_head_stride;
    p.v_scale_head_stride = args.v_scale_head_stride;
  }
  p.device_status = args.device_status;
  p.partial_o = reinterpret_cast<float*>(base);
  p.partial_lse = reinterpret_cast<float*>(base + layout.partial_lse);
  p.merge_records = reinterpret_cast<int*>(base + layout.merge_records);
  p.softmax_scale = args.softmax_scale != 0 ? args.softmax_scale
                                            : 1.0F / std::sqrt(static_cast<float>(spec.head_dim));
  p.lse_unit = spec.lse == Lse::base_e ? 0.6931471805599453F : 1.0F;
  p.batch = args.batch;
  p.rows = checked.rows;
  p.num_kv_heads = spec.num_kv_heads;
  p.max_kv_len = checked.max_kv_len;
  p.num_blocks = grid.num_blocks;
  p.splits = grid.splits;
  p.heads_abreast = grid.heads_abreast;
  p.column_tiles = geometry.column_tiles;
  p.columns_per_tile = geometry.columns_per_tile;
  return p;
}

void run(LaunchTarget& target, const Spec& spec, const Launch& launch, const CheckedArgs& checked,
         int splits, void* workspace, std::size_t workspace_bytes, CUstream stream) {
  const qrow_args& args = *checked.args;
  if (args.batch == 0) return;
  GridQuery query;
  query.num_sms = target.num_sms;
  query.num_kv_heads = spec.num_kv_heads;
  query.batch = args.batch;
  query.max_kv_len = checked.max_kv_len;
  query.splits = splits;
  query.heads_abreast = launch.heads_abreast;
  const Grid grid = grid_of(launch.geometry, &launch.combine_geometry, query);
  check_workspace(workspace, workspace_bytes, workspace_bytes_of(launch.geometry, query));
  check_context(target, launch);
  const DecodeParams params = decode_params(spec, checked, launch.geometry, grid, workspace);
  const bool overlap_previous = launch.programmatic_launch && (args.flags & QROW_RUN_PDL) != 0;
  launch_kernel(target, launch.attention, static_cast<unsigned>(grid.num_blocks), 1,
                overlap_previous, params, stream);
  if (grid.combine) {
    launch_kernel(target, launch.combine, grid.combine_x, grid.combine_y,
                  launch.programmatic_launch, params, stream);
  }
}

}  // namespace qrow
