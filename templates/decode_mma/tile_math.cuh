// What one warp does with KV tiles: S^T = K Q^T, online softmax, O^T += V^T P^T, all with mma.sync
// 16x8x16.
//
// K is the A operand (16 tokens), Q^T is B (8 columns), so few columns waste little. The
// accumulator holds the transpose of what the second product wants as B; movmatrix turns it in
// registers. In the fragments lane = 4 g + t.
#pragma once

#include "templates/common/convert.cuh"
#include "templates/common/paged_kv.cuh"
#include "templates/decode_mma/config.cuh"

namespace qrow {

template <DecodeMmaSpec kSpec, DecodeMmaTuning kTuning, Target kTarget>
class TileMath {
 public:
  static constexpr DType kMath = math_type(kSpec);
  static constexpr bool kExpands = size_of(DType(kSpec.kv_dtype)) == 1;
  static constexpr int kHeadDim = kSpec.head_dim;
  static constexpr int kBlocks = kTuning.column_blocks;
  static constexpr int kSlabs = kTuning.slab_tokens / 16;  // 16-token slabs per softmax step
  static constexpr int kTogether = kSlabs < 2 ? kSlabs : 2;
  static constexpr int kRowBytes = kv_row_bytes(kSpec);
  static constexpr int kQRowBytes = kHeadDim * 2;
  static constexpr float kNoReference = -1e30f;  // finite: the difference of two of them is 0
  // The reference of a column's exponents is moved only when a score passes it by 2^kSlack: with a
  // reference that follows every new maximum, most steps of a short context would pay for a
  // rescaling of O.
  static constexpr float kSlack = 8.0f;
  // f16 weights are kept 2^4 too large, between the flushing of small ones and the overflow at 2^(4
  // + 8); the sum carries the same factor.
  static constexpr float kShift = kMath == DType::f16 ? 4.0f : 0.0f;

  // Per column pair of block n (columns 8 n + 2 t and 8 n + 2 t + 1): running maximum of the raw
  // scores, this thread's part of the sum, and O^T. With 8-bit KV rows g and g + 8 of O's block i
  // are d = 16 i + 2 g and + 1, else 16 i + g and + 8.
  float reference[kBlocks][2];
  float sum[kBlocks][2];
  float o[kBlocks][kHeadDim / 16][4];

  // Begins a segment. `log2_scale` turns raw scores into exponents of two.
  __device__ void reset(float log2_scale) {
    log2_scale_ = log2_scale;
    slack_ = fminf(kSlack / log2_scale, 1e29f);
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      reference[n][0] = reference[n][1] = kNoReference;
      sum[n][0] = sum[n][1] = 0;
#pragma unroll
      for (int i = 0; i < kHeadDim / 16; ++i) o[n][i][0] = o[n][i][1] = o[n][i][2] = o[n][i][3] = 0;
    }
  }

  // One tile, K at `smem_k` and V behind it. `token` is its first token, `first_limit` the last
  // token that the call's first row sees: row j sees j more.
  __device__ void tile(unsigned smem_k, unsigned smem_q, int token, int first_limit,
                       int first_column) {
    unsigned k = Layout::origin(smem_k, lane() & 15, lane() >> 4);
    unsigned v = Layout::origin(smem_k + kTuning.tile_tokens * kRowBytes,
                                (lane() >> 4) * 8 + (lane() & 7), (lane() >> 3) & 1);
    const unsigned q = QLayout::origin(smem_q, lane() & 7, lane() >> 3);
#pragma unroll 1
    for (int slab = 0; slab < kTuning.tile_tokens; slab += kTuning.slab_tokens) {
      float s[kBlocks][kSlabs][4];
      multiply_k(s, k, q);
      if (token + slab + kTuning.slab_tokens - 1 > first_limit)
        mask(s, token + slab, first_limit, first_column);
      unsigned p[kBlocks][kSlabs][2];
      softmax(s, p);
      multiply_v(p, v);
      k += kTuning.slab_tokens * kRowBytes;
      v += kTuning.slab_tokens * kRowBytes;
    }
  }

 private:
  using Scores = float[kBlocks][kSlabs][4];
  using Weights = unsigned[kBlocks][kSlabs][2];
  using Layout = Swizzle<kRowBytes>;
  using QLayout = Swizzle<kQRowBytes>;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) & 31; }

  __device__ void multiply_k(Scores& s, unsigned k_origin, unsigned q_origin) {
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
#pragma unroll
      for (int u = 0; u < kSlabs; ++u) s[n][u][0] = s[n][u][1] = s[n][u][2] = s[n][u][3] = 0;
        // Two slabs at a time: enough independent sums, and no more fragments than registers.
#pragma unroll
    for (int first = 0; first < kSlabs; first += kTogether) {
#pragma unroll
      for (int k32 = 0; k32 < kHeadDim / 32; ++k32) {
        unsigned a[kTogether][2][4];
#pragma unroll
        for (int u = 0; u < kTogether; ++u) {
          load_k(a[u], k_origin + 16 * (first + u) * kRowBytes, k32);
        }
#pragma unroll
        for (int n = 0; n < kBlocks * q_terms(kSpec); ++n) {
          const int block = n % kBlocks;
          const unsigned term = q_origin + n / kBlocks * q_term_bytes(kSpec, kTuning);
          unsigned b[4];  // two k steps
          ptx::ldmatrix_x4(b, QLayout::at(term, k32 * 4) + 8 * block * kQRowBytes);
#pragma unroll
          for (int u = 0; u < kTogether; ++u) {
            ptx::mma_16x8x16<kMath>(s[block][first + u], a[u][0], b[0], b[1]);
            ptx::mma_16x8x16<kMath>(s[block][first + u], a[u][1], b[2], b[3]);
          }
        }
      }
    }
  }

  // The A fragments of 16 tokens and 32 elements from 32 * k32: two k steps.
  __device__ static void load_k(unsigned (&a)[2][4], unsigned k_origin, int k32) {
    if constexpr (kExpands) {
      unsigned raw[4];  // [tokens 0-7 | 8-15] of 16 elements, then of the next 16
      ptx::ldmatrix_x4(raw, Layout::at(k_origin, k32 * 2));
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        e4m3x4_to_f16<kTarget>(raw[2 * e], a[e][0], a[e][2]);
        e4m3x4_to_f16<kTarget>(raw[2 * e + 1], a[e][1], a[e][3]);
      }
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        ptx::ldmatrix_x4(a[e], Layout::at(k_origin, (k32 * 2 + e) * 2));
      }
    }
  }

  __device__ void mask(Scores& s, int token, int first_limit, int first_column) {
    const int g = lane() >> 2, t = lane() & 3;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int limit = first_limit + (first_column + 8 * n + 2 * t + c) / kSpec.group_size;
#pragma unroll
        for (int u = 0; u < kSlabs; ++u) {
          if (token + 16 * u + g > limit) s[n][u][c] = -__int_as_float(0x7f800000);
          if (token + 16 * u + g + 8 > limit) s[n][u][2 + c] = -__int_as_float(0x7f800000);
        }
      }
    }
  }

  // Turns scores into weights, transposed for the second product, and keeps reference and sum.
  __device__ void softmax(Scores& s, Weights& p) {
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      float m[2] = {kNoReference, kNoReference};
#pragma unroll
      for (int u = 0; u < kSlabs; ++u) {
        m[0] = fmaxf(m[0], fmaxf(s[n][u][0], s[n][u][2]));
        m[1] = fmaxf(m[1], fmaxf(s[n][u][1], s[n][u][3]));
      }
      const bool passed = m[0] > reference[n][0] + slack_ || m[1] > reference[n][1] + slack_;
      if (__any_sync(~0u, passed)) move_reference(n, m);
      // A column that has seen no key yet keeps a finite reference: -inf scores then give 0, not
      // NaN.
      const float b0 = kShift - fmaxf(reference[n][0] * log2_scale_, kNoReference);
      const float b1 = kShift - fmaxf(reference[n][1] * log2_scale_, kNoReference);
#pragma unroll
      for (int u = 0; u < kSlabs; ++u) {
        const float e0 = ptx::exp2_approx(fmaf(s[n][u][0], log2_scale_, b0));
        const float e1 = ptx::exp2_approx(fmaf(s[n][u][1], log2_scale_, b1));
        const float e2 = ptx::exp2_approx(fmaf(s[n][u][2], log2_scale_, b0));
        const float e3 = ptx::exp2_approx(fmaf(s[n][u][3], log2_scale_, b1));
        sum[n][0] += e0 + e2;
        sum[n][1] += e1 + e3;
        p[n][u][0] = ptx::movmatrix_trans(pack_pair<kMath>(e0, e1));
        p[n][u][1] = ptx::movmatrix_trans(pack_pair<kMath>(e2, e3));
      }
    }
  }

  // `m` is this thread's part of the block's maxima. Decided column by column: a column's bits do
  // not depend on its neighbours.
  __device__ void move_reference(int n, float (&m)[2]) {
#pragma unroll
    for (int offset = 4; offset < 32; offset <<= 1) {
      m[0] = fmaxf(m[0], __shfl_xor_sync(~0u, m[0], offset));
      m[1] = fmaxf(m[1], __shfl_xor_sync(~0u, m[1], offset));
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float moved = m[c] > reference[n][c] + slack_ ? m[c] : reference[n][c];
      const float factor = ptx::exp2_approx((reference[n][c] - moved) * log2_scale_);
      reference[n][c] = moved;
      sum[n][c] *= factor;
#pragma unroll
      for (int i = 0; i < kHeadDim / 16; ++i) {
        o[n][i][c] *= factor;
        o[n][i][2 + c] *= factor;
      }
    }
  }

  __device__ void multiply_v(const Weights& p, unsigned v_origin) {
#pragma unroll
    for (int u = 0; u < kSlabs; ++u) {
      const unsigned origin = v_origin + 16 * u * kRowBytes;
      if constexpr (kExpands) {
#pragma unroll
        for (int d32 = 0; d32 < kHeadDim / 32; ++d32) {
          unsigned raw[4];  // tokens 0-7 of 16 elements and of the next 16, then tokens 8-15
          ptx::ldmatrix_x4_trans(raw, Layout::at(origin, d32 * 2));
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            // A register holds d 2g and 2g + 1 of tokens 2t and 2t + 1: bytes into pairs of tokens.
            unsigned a[4];
            e4m3x4_to_f16<kTarget>(__byte_perm(raw[e], 0, 0x3120), a[0], a[1]);
            e4m3x4_to_f16<kTarget>(__byte_perm(raw[e + 2], 0, 0x3120), a[2], a[3]);
#pragma unroll
            for (int n = 0; n < kBlocks; ++n)
              ptx::mma_16x8x16<kMath>(o[n][d32 * 2 + e], a, p[n][u][0], p[n][u][1]);
          }
        }
      } else {
#pragma unroll
        for (int d16 = 0; d16 < kHeadDim / 16; ++d16) {
          unsigned a[4];
          ptx::ldmatrix_x4_trans(a, Layout::at(origin, d16 * 2));
#pragma unroll
          for (int n = 0; n < kBlocks; ++n)
            ptx::mma_16x8x16<kMath>(o[n][d16], a, p[n][u][0], p[n][u][1]);
        }
      }
    }
  }

  float log2_scale_;
  float slack_;  // kSlack in raw scores
};

}  // namespace qrow
