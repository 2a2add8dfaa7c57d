// Loads tiles of paged K and V into shared memory with cp.async, for any page size, and knows the
// tiles' layout.
//
// A tile is [tokens][row bytes], 16-byte chunks swizzled so that ldmatrix meets no bank conflict.
// Tokens at or after the request's end become zeros and are never read: their slots may hold NaN.
// 64-bit offsets throughout.
#pragma once

#include "templates/common/params.cuh"
#include "templates/common/ptx.cuh"

namespace qrow {

// The layout of a tile whose rows have kRowBytes: chunk c of row r lies at chunk c ^ f(r) of that
// row. Since f(r) and the row's other address bits are disjoint, one origin per row and an
// exclusive or with a constant give any chunk: fragments need no register per address.
template <int kRowBytes>
struct Swizzle {
  static_assert(kRowBytes == 64 || kRowBytes % 128 == 0,
                "rows of 64 or of a multiple of 128 bytes");

  // Address of chunk `chunk` of row `row`, in a tile at a multiple of 128.
  __device__ static unsigned origin(unsigned tile, int row, int chunk = 0) {
    const int flip = kRowBytes == 64 ? (row >> 1) & 3 : row & 7;
    return at(tile + static_cast<unsigned>(row * kRowBytes + (flip << 4)), chunk);
  }
  // `chunk` chunks on, where the origin's own chunk has none of chunk's bits set.
  __device__ static unsigned at(unsigned origin, int chunk) {
    return (origin ^ static_cast<unsigned>((chunk & 7) << 4)) +
           static_cast<unsigned>((chunk >> 3) * 128);
  }
};

// One warp's share of a ring's loads: kRows rows of each tile, from row `first_row` of the tile.
// Page ids are fetched one tile ahead: prefetch(token), then load(token, ...).
template <int kRowBytes, int kPageSize, int kTileTokens, int kRows>
class PagedKvLoader {
  static constexpr int kChunks = kRowBytes / 16;  // per row
  static_assert(kChunks <= 32 && 32 % kChunks == 0, "a load instruction covers whole rows");
  static constexpr int kRowsPerLoad = 32 / kChunks;
  static_assert(kRows % kRowsPerLoad == 0, "a warp's rows are whole load instructions");
  static_assert(kRows % 8 == 0, "a warp's rows begin where the swizzle does");
  static constexpr int kLoads = kRows / kRowsPerLoad;
  // Tiles inside one page need one id; else lane l looks up the rows first_row + l, + 32, ...
  static constexpr bool kOnePage = kPageSize % kTileTokens == 0;
  static constexpr int kLookups = kOnePage ? 1 : (kRows + 31) / 32;
  using Layout = Swizzle<kRowBytes>;

 public:
  __device__ PagedKvLoader(const DecodeParams& params, int first_row)
      : params_(params), first_row_(first_row), policy_(ptx::evict_first_policy()) {}

  // Turns to another request and head.
  __device__ void bind(int request, int kv_head, int kv_len) {
    k_ = static_cast<const char*>(params_.k) + kv_head * params_.k_head_stride + lane_chunk() * 16;
    v_ = static_cast<const char*>(params_.v) + kv_head * params_.v_head_stride + lane_chunk() * 16;
    table_ = request * params_.page_table_stride;
    kv_len_ = kv_len;
  }

  // Asks for the page ids of the tile that begins at `token`.
  __device__ void prefetch(int token) {
    const bool same_table = params_.v_page_table == params_.page_table;
#pragma unroll
    for (int i = 0; i < kLookups; ++i) {
      const int t = kOnePage ? token : token + first_row_ + lane() + 32 * i;
      const bool live = t < kv_len_ && (kOnePage || lane() + 32 * i < kRows);
      k_page_[i] = live ? params_.page_table[table_ + t / kPageSize] : 0;
      v_page_[i] = same_table ? k_page_[i]
                   : live     ? params_.v_page_table[table_ + t / kPageSize]
                              : 0;
    }
  }

  // Issues the copies of the tile whose ids were prefetched; K lies at `smem`, V behind it.
  __device__ void load(int token, unsigned smem) const {
    const unsigned k_smem = Layout::origin(smem, first_row_ + lane_row(), lane_chunk());
    long long k_offset[kLookups], v_offset[kLookups];
#pragma unroll
    for (int i = 0; i < kLookups; ++i) {
      const int row = kOnePage ? first_row_ : first_row_ + lane() + 32 * i;
      const int in_page = (token + row) % kPageSize;
      k_offset[i] = k_page_[i] * params_.k_page_stride + in_page * params_.k_token_stride;
      v_offset[i] = v_page_[i] * params_.v_page_stride + in_page * params_.v_token_stride;
    }
    if constexpr (kOnePage) {
      k_offset[0] += lane_row() * params_.k_token_stride;
      v_offset[0] += lane_row() * params_.v_token_stride;
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int row = i * kRowsPerLoad;  // of this warp's, less lane_row()
      long long k_row, v_row;
      if constexpr (kOnePage) {
        k_row = k_offset[0] + row * params_.k_token_stride;
        v_row = v_offset[0] + row * params_.v_token_stride;
      } else {
        k_row = __shfl_sync(~0u, k_offset[row / 32], (row + lane_row()) % 32);
        v_row = __shfl_sync(~0u, v_offset[row / 32], (row + lane_row()) % 32);
      }
      const int bytes = token + first_row_ + row + lane_row() < kv_len_ ? 16 : 0;
      const unsigned flip = kRowBytes == 64 ? (row >> 1) & 3 : row & 7;
      const unsigned k_to = (k_smem ^ (flip << 4)) + row * kRowBytes;
      ptx::cp_async_16(k_to, k_ + k_row, bytes, policy_);
      ptx::cp_async_16(k_to + kTileTokens * kRowBytes, v_ + v_row, bytes, policy_);
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) & 31; }
  // Where this lane's chunks lie in the rows of one load instruction.
  __device__ static int lane_row() { return lane() / kChunks; }
  __device__ static int lane_chunk() { return lane() % kChunks; }

  const DecodeParams& params_;
  const int first_row_;
  const unsigned long long policy_;
  const char* k_;
  const char* v_;
  long long table_;
  int kv_len_;
  int k_page_[kLookups];
  int v_page_[kLookups];
};

}  // namespace qrow
