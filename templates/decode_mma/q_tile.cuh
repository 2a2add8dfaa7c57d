// Brings one tile of Q into shared memory as the B operand of S^T = K Q^T.
//
// Rows are columns of the problem: column c is query row c / group of the request, head c % group
// of the KV head's group. Missing columns are zeros. Q is asked for before KV is (behind queued KV
// reads it would arrive microseconds later), hence the two steps request() and store().
#pragma once

#include "templates/common/convert.cuh"
#include "templates/common/paged_kv.cuh"
#include "templates/common/params.cuh"
#include "templates/decode_mma/config.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning>
class QTile {
  static constexpr DType kMath = math_type(kSpec);
  static constexpr DType kQ = DType(kSpec.q_dtype);
  static constexpr int kColumns = columns_per_tile(kTuning);
  static constexpr int kChunks = kSpec.head_dim / 8;  // 16 bytes of 16-bit elements
  static constexpr int kThreads = num_threads(kTuning);
  static constexpr int kPerThread = (kColumns * kChunks + kThreads - 1) / kThreads;
  // bf16 has a wider range than f16: the tile is scaled by a power of two (exact) so that its
  // largest element lies in [2^13, 2^14); elements 2^-27 below that lose bits, which no score
  // shows.
  static constexpr bool kRescales = kQ == DType::bf16 && kMath == DType::f16;
  static constexpr int kTopExponent = 13;
  using Layout = Swizzle<kSpec.head_dim * 2>;

 public:
  static constexpr int kRowBytes = kSpec.head_dim * 2;

  __device__ void request(const DecodeParams& params, int request, int kv_head, int first_column) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const int item = static_cast<int>(threadIdx.x) + i * kThreads;
      const int column = first_column + item / kChunks;
      const int row = column / kSpec.group_size;
      q_[i] = make_uint4(0, 0, 0, 0);
      if (item < kColumns * kChunks && row < params.rows) {
        const int head = kv_head * kSpec.group_size + column % kSpec.group_size;
        const long long q_row = static_cast<long long>(request) * params.rows + row;
        q_[i] = ptx::load_16(static_cast<const char*>(params.q) + q_row * params.q_row_stride +
                             head * params.q_head_stride + item % kChunks * 16);
      }
    }
  }

  // Before a barrier of the block: this warp's part of the tile's range, to one word of `scratch`
  // per warp.
  __device__ void publish_range(int* scratch) const {
    if constexpr (kRescales) {
      const int bits = largest_bits();
      if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = bits;
    }
  }

  // After it: writes the tile to `smem`. Returns what scores must be multiplied by to undo the
  // scaling. The block must synchronise before the tile is read.
  __device__ float store(unsigned smem, const int* scratch) const {
    int exponent = 0;
    if constexpr (kRescales) exponent = largest_exponent(scratch) - kTopExponent;
    const float factor = power_of_two(-exponent);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const int item = static_cast<int>(threadIdx.x) + i * kThreads;
      if (item < kColumns * kChunks)
        store_chunk(smem, item / kChunks, item % kChunks, q_[i], factor);
    }
    return power_of_two(exponent);
  }

 private:
  __device__ static unsigned converted(unsigned pair, float factor) {
    if constexpr (kQ == kMath) {
      return pair;
    } else {
      return pack_pair<kMath>(pair_element<kQ>(pair, 0) * factor,
                              pair_element<kQ>(pair, 1) * factor);
    }
  }

  // What rounding to the maths' type leaves of a pair.
  __device__ static unsigned remainder(unsigned pair) {
    const unsigned rounded = converted(pair, 1.0f);
    return pack_pair<kMath>(pair_element<kQ>(pair, 0) - pair_element<kMath>(rounded, 0),
                            pair_element<kQ>(pair, 1) - pair_element<kMath>(rounded, 1));
  }

  __device__ static void store_chunk(unsigned smem, int column, int chunk, uint4 value,
                                     float factor) {
    if constexpr (q_terms(kSpec) == 2) {
      ptx::store_shared(Layout::origin(smem + q_term_bytes(kSpec, kTuning), column, chunk),
                        make_uint4(remainder(value.x), remainder(value.y), remainder(value.z),
                                   remainder(value.w)));
    }
    const unsigned pairs[4] = {converted(value.x, factor), converted(value.y, factor),
                               converted(value.z, factor), converted(value.w, factor)};
    if constexpr (size_of(DType(kSpec.kv_dtype)) == 2) {
      ptx::store_shared(Layout::origin(smem, column, chunk),
                        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]));
    } else {
      // The order of d in which an expanded 8-bit K fragment arrives: of the eight pairs of 16
      // elements the even ones come first (k 2t, 2t + 1 of the MMA holds d 4t, 4t + 1), then the
      // odd ones. A chunk of 8 elements has half of each.
      const int half = chunk % 2 * 8;
      const int first = chunk / 2 * 2;
      ptx::store_shared(Layout::origin(smem, column, first) + half, make_uint2(pairs[0], pairs[2]));
      ptx::store_shared(Layout::origin(smem, column, first + 1) + half,
                        make_uint2(pairs[1], pairs[3]));
    }
  }

  __device__ static int max_bits(int a, unsigned pair) {
    const int low = static_cast<int>(pair & 0x7fffu), high = static_cast<int>(pair >> 16 & 0x7fffu);
    a = a > low ? a : low;
    return a > high ? a : high;
  }

  __device__ int largest_bits() const {
    int bits = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      bits = max_bits(max_bits(max_bits(max_bits(bits, q_[i].x), q_[i].y), q_[i].z), q_[i].w);
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
      const int other = __shfl_xor_sync(~0u, bits, offset);
      bits = bits > other ? bits : other;
    }
    return bits;
  }

  // Exponent of the largest |element| of the tile, at least -100.
  __device__ static int largest_exponent(const int* scratch) {
    int bits = 0;
#pragma unroll
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      bits = bits > scratch[warp] ? bits : scratch[warp];
    }
    const int exponent = (bits >> 7) - 127;
    return exponent > -100 ? exponent : -100;
  }

  uint4 q_[kPerThread];
};

}  // namespace qrow
