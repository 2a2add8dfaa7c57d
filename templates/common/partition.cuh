// How the KV of a call is divided among blocks, and where partial results lie: the one place that
// host, attention kernels and combine agree on.
//
// A unit is one (request, KV head, column tile): its result is one tile of output columns. The
// units' KV steps (step_tokens tokens each, at least one step a unit) are laid end to end, request
// outermost, and block i of G takes the contiguous steps [i T / G, (i + 1) T / G). So a block meets
// at most one unit that an earlier block began (its partial goes to slot 0) and at most one that a
// later block ends (slot 1); all others it writes out itself. The workspace is bounded by the grid,
// not by the batch. Lengths are read on the device.
//
// With forced splits (tests, bug reports) unit u is cut into exactly `splits` pieces, piece p of it
// is block u * splits + p; piece 0 uses slot 1, the others slot 0, and an empty piece leaves a
// neutral partial.
#pragma once

namespace qrow {

// One record a merge: which block began the unit, which unit, how many partials (<= 1: nothing to
// merge).
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
