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

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile whose rows have kRowBytes (a multiple
// of 64).
template <int kRowBytes>
__device__ __forceinline__ int swizzled(int row, int chunk) {
  if constexpr (kRowBytes % 128 == 0) {
    return row * kRowBytes + ((chunk ^ (row & 7)) << 4);
  } else {  // two rows share a line of 128 bytes
    static_assert(kRowBytes == 64, "rows of 64 bytes or of a multiple of 128");
    return row * kRowBytes + ((chunk ^ ((row >> 1) & 3)) << 4);
  }
}

// One warp's share of a ring's loads: kRows rows of each tile, starting at row `first_row` of the
// tile. Page ids are fetched one tile ahead: prefetch(token) then load(...) of the same tile.
template <int kRowBytes, int kPageSize, int kTileTokens, int kRows>
class PagedKvLoader {
  static constexpr int kChunks = kRowBytes / 16;  // per row
  static_assert(kChunks <= 32 && 32 % kChunks == 0, "a load instruction covers whole rows");
  static constexpr int kRowsPerLoad = 32 / kChunks;
  static_assert(kRows % kRowsPerLoad == 0, "a warp's rows are whole load instructions");
  static constexpr int kLoads = kRows / kRowsPerLoad;
  // Tiles inside one page need one id; else each lane looks up the rows first_row + lane, + 32, ...
  static constexpr bool kOnePage = kPageSize % kTileTokens == 0;
  static constexpr int kLookups = kOnePage ? 1 : (kRows + 31) / 32;

 public:
  __device__ PagedKvLoader(const DecodeParams& params, int request, int kv_head, int kv_len,
                           int first_row)
      : params_(params),
        k_(static_cast<const char*>(params.k) + kv_head * params.k_head_stride),
        v_(static_cast<const char*>(params.v) + kv_head * params.v_head_stride),
        k_table_(params.page_table + request * params.page_table_stride),
        v_table_(params.v_page_table + request * params.page_table_stride),
        kv_len_(kv_len),
        first_row_(first_row),
        lane_(static_cast<int>(threadIdx.x) & 31),
        policy_(ptx::evict_first_policy()) {}

  // Asks for the page ids of the tile that begins at `token`.
  __device__ void prefetch(int token) {
#pragma unroll
    for (int i = 0; i < kLookups; ++i) {
      const int t = kOnePage ? token : token + first_row_ + lane_ + 32 * i;
      const bool live = t < kv_len_ && (kOnePage || lane_ + 32 * i < kRows);
      k_page_[i] = live ? k_table_[t / kPageSize] : 0;
      v_page_[i] = v_table_ == k_table_ ? k_page_[i] : live ? v_table_[t / kPageSize] : 0;
    }
  }

  // Issues the copies of the tile whose ids were prefetched; K lies at `smem`, V kTileTokens rows
  // later.
  __device__ void load(int token, unsigned smem) const {
    const int chunk = lane_ % kChunks;
    const int row_in_load = lane_ / kChunks;
    const unsigned smem_v = smem + kTileTokens * kRowBytes;
    long long k_offset[kLookups], v_offset[kLookups];
#pragma unroll
    for (int i = 0; i < kLookups; ++i) {
      const int in_page =
          (kOnePage ? token + first_row_ : token + first_row_ + lane_ + 32 * i) % kPageSize;
      k_offset[i] = k_page_[i] * params_.k_page_stride + in_page * params_.k_token_stride;
      v_offset[i] = v_page_[i] * params_.v_page_stride + in_page * params_.v_token_stride;
    }
    if constexpr (kOnePage) {
      const char* k = k_ + k_offset[0] + row_in_load * params_.k_token_stride + chunk * 16;
      const char* v = v_ + v_offset[0] + row_in_load * params_.v_token_stride + chunk * 16;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int row = first_row_ + i * kRowsPerLoad + row_in_load;
        const int bytes = token + row < kv_len_ ? 16 : 0;
        const int offset = swizzled<kRowBytes>(row, chunk);
        ptx::cp_async_16(smem + offset, k, bytes, policy_);
        ptx::cp_async_16(smem_v + offset, v, bytes, policy_);
        k += kRowsPerLoad * params_.k_token_stride;
        v += kRowsPerLoad * params_.v_token_stride;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int row_of_warp = i * kRowsPerLoad + row_in_load;
        const long long k_row = __shfl_sync(~0u, k_offset[i * kRowsPerLoad / 32], row_of_warp % 32);
        const long long v_row = __shfl_sync(~0u, v_offset[i * kRowsPerLoad / 32], row_of_warp % 32);
        const int row = first_row_ + row_of_warp;
        const int bytes = token + row < kv_len_ ? 16 : 0;
        const int offset = swizzled<kRowBytes>(row, chunk);
        ptx::cp_async_16(smem + offset, k_ + k_row + chunk * 16, bytes, policy_);
        ptx::cp_async_16(smem_v + offset, v_ + v_row + chunk * 16, bytes, policy_);
      }
    }
  }

 private:
  const DecodeParams& params_;
  const char* k_;
  const char* v_;
  const int* k_table_;
  const int* v_table_;
  const int kv_len_;
  const int first_row_;
  const int lane_;
  const unsigned long long policy_;
  int k_page_[kLookups];
  int v_page_[kLookups];
};

}  // namespace qrow
