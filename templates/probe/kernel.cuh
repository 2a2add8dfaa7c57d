// Executes one instruction on given operands, lane by lane: what the emulator of the tests is
// compared with on a device.
#pragma once

#include "templates/common/ptx.cuh"
#include "templates/common/target.cuh"
#include "templates/probe/config.cuh"
#include "templates/probe/params.cuh"

namespace qrow {

template <ProbeOperation kOperation>
__device__ void probe_ldmatrix(const unsigned* in, unsigned* out) {
  struct Rows {
    uint4 row[32];
  };
  Rows& rows = ptx::static_shared<Rows>();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  rows.row[lane] = make_uint4(in[0], in[1], in[2], in[3]);
  __syncwarp();
  unsigned r[4];
  const unsigned address = ptx::smem_address(&rows.row[lane]);
  if constexpr (kOperation == ProbeOperation::ldmatrix) {
    ptx::ldmatrix_x4(r, address);
  } else {
    ptx::ldmatrix_x4_trans(r, address);
  }
  for (int i = 0; i < 4; ++i) out[i] = r[i];
}

template <ProbeOperation kOperation>
__device__ void probe_stmatrix(const unsigned* in, unsigned* out) {
  struct Rows {
    uint4 row[32];
  };
  Rows& rows = ptx::static_shared<Rows>();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned r[4] = {in[0], in[1], in[2], in[3]};
  const unsigned address = ptx::smem_address(&rows.row[lane]);
  if constexpr (kOperation == ProbeOperation::stmatrix) {
    ptx::stmatrix_x4(address, r);
  } else {
    ptx::stmatrix_x4_trans(address, r);
  }
  __syncwarp();
  const uint4 row = rows.row[lane];
  out[0] = row.x, out[1] = row.y, out[2] = row.z, out[3] = row.w;
}

template <DType kType>
__device__ void probe_mma(const unsigned* in, unsigned* out) {
  const unsigned a[4] = {in[0], in[1], in[2], in[3]};
  float c[4];
  for (int i = 0; i < 4; ++i) c[i] = __uint_as_float(in[6 + i]);
  ptx::mma_16x8x16<kType>(c, a, in[4], in[5]);
  for (int i = 0; i < 4; ++i) out[i] = __float_as_uint(c[i]);
}

// A block has one warp, so that the rows of ldmatrix are its own.
template <ProbeSpec kSpec, ProbeTuning kTuning, Target kTarget>
__device__ void probe_kernel(const ProbeParams& params) {
  constexpr ProbeOperation kOperation = ProbeOperation(kSpec.operation);
  static_assert(kTuning.num_warps == 1, "one warp a block");
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (lane >= params.lanes) return;
  const unsigned* in = params.in + static_cast<long long>(lane) * words_in(kOperation);
  unsigned* out = params.out + static_cast<long long>(lane) * words_out(kOperation);
  if constexpr (kOperation == ProbeOperation::e4m3x4_to_f16) {
    static_assert(kTarget.e4m3_convert, "the architecture has the instruction");
    ptx::e4m3x4_to_f16x2(in[0], out[0], out[1]);
  } else if constexpr (kOperation == ProbeOperation::f16_to_float) {
    out[0] = __float_as_uint(ptx::f16_to_float(static_cast<unsigned short>(in[0])));
  } else if constexpr (kOperation == ProbeOperation::pack_bf16x2) {
    out[0] = ptx::pack_bf16x2(__uint_as_float(in[0]), __uint_as_float(in[1]));
  } else if constexpr (kOperation == ProbeOperation::pack_f16x2) {
    out[0] = ptx::pack_f16x2(__uint_as_float(in[0]), __uint_as_float(in[1]));
  } else if constexpr (kOperation == ProbeOperation::exp2_approx) {
    out[0] = __float_as_uint(ptx::exp2_approx(__uint_as_float(in[0])));
  } else if constexpr (kOperation == ProbeOperation::log2_approx) {
    out[0] = __float_as_uint(ptx::log2_approx(__uint_as_float(in[0])));
  } else if constexpr (kOperation == ProbeOperation::movmatrix_trans) {
    out[0] = ptx::movmatrix_trans(in[0]);
  } else if constexpr (kOperation == ProbeOperation::ldmatrix ||
                       kOperation == ProbeOperation::ldmatrix_trans) {
    probe_ldmatrix<kOperation>(in, out);
  } else if constexpr (kOperation == ProbeOperation::stmatrix ||
                       kOperation == ProbeOperation::stmatrix_trans) {
    static_assert(kTarget.programmatic_launch, "stmatrix came with sm_90, as that did");
    probe_stmatrix<kOperation>(in, out);
  } else if constexpr (kOperation == ProbeOperation::reduce_add) {
    out[0] = __reduce_add_sync(~0u, in[0]);
  } else if constexpr (kOperation == ProbeOperation::reduce_min) {
    out[0] = static_cast<unsigned>(__reduce_min_sync(~0u, static_cast<int>(in[0])));
  } else if constexpr (kOperation == ProbeOperation::reduce_max) {
    out[0] = __reduce_max_sync(~0u, in[0]);
  } else if constexpr (kOperation == ProbeOperation::mma_bf16) {
    probe_mma<DType::bf16>(in, out);
  } else {
    static_assert(kOperation == ProbeOperation::mma_f16, "an operation that the probe knows");
    probe_mma<DType::f16>(in, out);
  }
}

}  // namespace qrow
