// The kernel spec and tuning of decode_mma, and everything that follows from them alone. Compiled
// by the host compiler and by NVRTC, so that both sides agree on shapes and shared memory.
//
// Head counts, rows and scales are run-time values: one kernel serves every model with the same
// group and head_dim.
#pragma once

#include "templates/common/dtype.cuh"

namespace qrow {

struct DecodeMmaSpec {
  int q_dtype;
  int kv_dtype;
  int out_dtype;
  int head_dim;
  int group_size;  // query heads per KV head
  int page_size;
};

struct DecodeMmaTuning {
  int tile_tokens;    // KV tokens of a tile, the unit of a ring
  int num_stages;     // tiles in a ring
  int num_rings;      // rings per block, each with its own tiles and softmax state
  int row_groups;     // warps that share a ring, each with its own columns
  int column_blocks;  // 8-column blocks per warp
  int slab_tokens;    // KV tokens per softmax step, 16 or 32
  int blocks_per_sm;  // resident blocks that the grid counts on
  int maxnreg;        // register cap, 0: unset
};

// The type of the maths: 8-bit KV is expanded to f16 (exact), 16-bit KV is used as it is.
constexpr DType math_type(DecodeMmaSpec s) {
  return DType(s.kv_dtype) == DType::bf16 ? DType::bf16 : DType::f16;
}

// f16 Q has three bits more than bf16 maths: it goes in as the sum of two terms.
constexpr int q_terms(DecodeMmaSpec s) {
  return DType(s.q_dtype) == DType::f16 && math_type(s) == DType::bf16 ? 2 : 1;
}

constexpr int num_warps(DecodeMmaTuning t) { return t.num_rings * t.row_groups; }
constexpr int num_threads(DecodeMmaTuning t) { return 32 * num_warps(t); }
// Columns of one block: what one pass over a KV tile serves.
constexpr int columns_per_tile(DecodeMmaTuning t) { return t.row_groups * t.column_blocks * 8; }
// KV tokens that a block takes at a time, one tile a ring.
constexpr int step_tokens(DecodeMmaTuning t) { return t.num_rings * t.tile_tokens; }

constexpr int kv_row_bytes(DecodeMmaSpec s) { return s.head_dim * size_of(DType(s.kv_dtype)); }
// One tile of K or of V.
constexpr int tile_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return t.tile_tokens * kv_row_bytes(s);
}
constexpr int ring_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return t.num_stages * 2 * tile_bytes(s, t);
}

// What a warp hands over for the merge of the rings, in 16-byte words per lane: for each column
// block head_dim / 16 words of O, then reference and sum of its columns.
constexpr int block_words(DecodeMmaSpec s) { return s.head_dim / 16 + 1; }
constexpr int state_words(DecodeMmaSpec s, DecodeMmaTuning t) {
  return t.column_blocks * block_words(s);
}
constexpr int merge_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return num_warps(t) * state_words(s, t) * 32 * 16;
}

// Static shared memory: the block's schedule.
constexpr int kPlanBytes = 192;

// Dynamic shared memory: [rings, or the merge once they are drained | Q | one word per warp].
constexpr int q_offset_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  const int rings = t.num_rings * ring_bytes(s, t);
  return rings > merge_bytes(s, t) ? rings : merge_bytes(s, t);
}
constexpr int q_term_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return columns_per_tile(t) * s.head_dim * 2;
}
constexpr int scratch_offset_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return q_offset_bytes(s, t) + q_terms(s) * q_term_bytes(s, t);
}
constexpr int smem_bytes(DecodeMmaSpec s, DecodeMmaTuning t) {
  return scratch_offset_bytes(s, t) + num_warps(t) * 4;
}

}  // namespace qrow
