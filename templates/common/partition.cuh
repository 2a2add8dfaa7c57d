// How the KV of a call is divided among blocks, and where partial results lie: the one place that
// host, attention kernels and combine agree on.
//
// A unit is one (request, KV head, column tile): its result is one tile of output columns. Its KV
// is cut into steps of step_tokens tokens, at least one. `heads_abreast` neighbouring blocks work
// side by side on as many neighbouring head tiles, so that they read neighbouring bytes at about
// the same time. Each of these lanes has the same steps: those of its units end to end, request
// outermost; and group i of the S groups of blocks takes the contiguous share [i T / S, (i + 1) T /
// S) of the T steps. So a block meets at most one unit that an earlier block began (its partial
// goes to slot 0) and at most one that a later block ends (slot 1); all others it writes out
// itself. The workspace is bounded by the grid, not by the batch. Lengths are read on the device.
//
// With forced splits (tests, bug reports) unit u is cut into exactly `splits` pieces, piece p of it
// is block u * splits + p; piece 0 uses slot 1, the others slot 0, and an empty piece leaves a
// neutral partial. Then heads_abreast is 1.
#pragma once

namespace qrow {

// One record a merge: which block began the unit, which unit, how many partials (<= 1: nothing to
// merge). Part p > 0 was left by block first_block + p * heads_abreast.
struct MergeRecord {
  int first_block;
  int request;
  int head_tile;  // kv_head * column_tiles + column_tile
  int num_parts;
};

// Records are indexed by unit where the units are fewer than the blocks, else by the block that
// began the unit.
constexpr long long num_merge_records(long long num_units, long long num_blocks) {
  return num_units < num_blocks ? num_units : num_blocks;
}

// How many of a request's `head_tiles` neighbouring blocks take side by side on a device that holds
// `resident_blocks`: the most that divide them without leaving 3 % more blocks idle than need be.
// The rows of one token's heads are neighbours in memory (NHD): 128-byte rows side by side took 134
// us where head after head took 140 (H200, 64/8 heads, e4m3, batch 128, 2048 tokens).
constexpr int heads_abreast_of(int resident_blocks, int head_tiles) {
  int most_busy = 0;
  for (int abreast = 1; abreast <= head_tiles && abreast <= resident_blocks; ++abreast) {
    const int busy = resident_blocks / abreast * abreast;
    if (head_tiles % abreast == 0 && busy > most_busy) most_busy = busy;
  }
  int best = 1;
  for (int abreast = 1; abreast <= head_tiles && abreast <= resident_blocks; ++abreast) {
    const int busy = resident_blocks / abreast * abreast;
    if (head_tiles % abreast == 0 && busy * 100LL >= most_busy * 97LL) best = abreast;
  }
  return best;
}

// Blocks of a launch whose units have at most max_steps: no lane gets a share without a step.
constexpr long long num_blocks_of(int resident_blocks, int head_tiles, int heads_abreast,
                                  long long batch, long long max_steps) {
  const long long lane_steps = batch * (head_tiles / heads_abreast) * max_steps;
  const long long groups = resident_blocks / heads_abreast;
  return (groups < lane_steps ? groups : lane_steps) * heads_abreast;
}

struct WorkspaceLayout {  // offsets in bytes, each a multiple of 256
  long long partial_lse;  // float [blocks, 2, columns]: log2 domain
  long long merge_records;
  long long total;  // partial_o, float [blocks, 2, columns, head_dim_v], lies at 0
};

constexpr long long align_256(long long bytes) { return (bytes + 255) / 256 * 256; }

constexpr WorkspaceLayout workspace_layout(long long num_blocks, int columns, int head_dim_v) {
  WorkspaceLayout layout{};
  layout.partial_lse = align_256(num_blocks * 2 * columns * head_dim_v * 4);
  layout.merge_records = layout.partial_lse + align_256(num_blocks * 2 * columns * 4);
  layout.total = layout.merge_records + align_256(num_blocks * (long long)sizeof(MergeRecord));
  return layout;
}

}  // namespace qrow
