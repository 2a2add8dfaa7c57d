// All inline PTX of the templates, each behind a plain name. Nothing else in templates/ contains
// `asm`, so the code can run elsewhere by replacing this file.
#pragma once

#include "templates/common/dtype.cuh"

namespace qrow::ptx {

// ---- Shared memory and asynchronous copies
// -------------------------------------------------------------

// The block's dynamic shared memory, at a multiple of 128 bytes.
__device__ __forceinline__ char* dynamic_shared() {
  extern __shared__ __align__(128) char dynamic_shared_memory[];
  return dynamic_shared_memory;
}

// One T in the block's static shared memory, the same one for every call with this type. Nothing
// constructs it.
template <typename T>
__device__ __forceinline__ T& static_shared() {
  __shared__ __align__(16) char storage[sizeof(T)];
  return reinterpret_cast<T&>(storage);
}

__device__ __forceinline__ unsigned smem_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// An L2 policy for data that is read once: it leaves L2 first.
__device__ __forceinline__ unsigned long long evict_first_policy() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Copies 16 bytes to shared memory; with valid_bytes 0 writes zeros and reads nothing.
//
// The shared address must not be a plain sum of a block-wide and a per-thread part: ptxas
// (CUDA 13.0, sm_90a) then keeps one part in a uniform register and, beside a policy, encodes an
// illegal instruction. Addresses through Swizzle end in an exclusive or and are safe.
__device__ __forceinline__ void cp_async_16(unsigned smem, const void* global, int valid_bytes,
                                            unsigned long long policy) {
  asm volatile(
      "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(smem),
      "l"(global), "r"(valid_bytes), "l"(policy)
      : "memory");
}

// The same without a policy, always 16 bytes.
__device__ __forceinline__ void cp_async_16(unsigned smem, const void* global) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(smem), "l"(global)
               : "memory");
}

__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most kPending of this thread's newest groups are in flight.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// A barrier among `threads` threads of the block; id 1..15.
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void store_shared(unsigned smem, uint2 v) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(smem), "r"(v.x), "r"(v.y) : "memory");
}

__device__ __forceinline__ void store_shared(unsigned smem, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(smem), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

// ---- Matrix fragments
// --------------------------------------------------------------------------------------------

// Four 8x8 matrices of 16-bit elements; lanes 8i..8i+7 give the row addresses of matrix i.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem)
               : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], unsigned smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem)
               : "memory");
}

// The reverse of ldmatrix_x4. REQUIRES: sm_90.
__device__ __forceinline__ void stmatrix_x4(unsigned smem, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

__device__ __forceinline__ void stmatrix_x4_trans(unsigned smem, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Transposes an 8x8 matrix of 16-bit elements held by the warp.
__device__ __forceinline__ unsigned movmatrix_trans(unsigned r) {
  unsigned out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(r));
  return out;
}

// c += a b, 16x8x16, fp32 accumulation; elements bf16 or f16.
template <DType kType>
__device__ __forceinline__ void mma_16x8x16(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                            unsigned b1) {
  if constexpr (kType == DType::bf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// ---- Arithmetic and conversions
// ----------------------------------------------------------------------------------

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float log2_approx(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two floats to a packed pair, round to nearest even; `low` in the low half.
__device__ __forceinline__ unsigned pack_bf16x2(float low, float high) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ __forceinline__ unsigned pack_f16x2(float low, float high) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

__device__ __forceinline__ float f16_to_float(unsigned short bits) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
  return f;
}

// Four e4m3 bytes to two f16 pairs. REQUIRES Target::e4m3_convert.
__device__ __forceinline__ void e4m3x4_to_f16x2(unsigned bytes, unsigned& low, unsigned& high) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.rn.f16x2.e4m3x2 %0, l;\ncvt.rn.f16x2.e4m3x2 "
      "%1, h;\n}"
      : "=r"(low), "=r"(high)
      : "r"(bytes));
}

// ---- Global memory
// -----------------------------------------------------------------------------------------------

// Past L1, for data that other blocks wrote in this or the previous kernel (a read-only load would
// break under programmatic launch).
__device__ __forceinline__ float4 load_cg(const float4* pointer) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(pointer)
               : "memory");
  return v;
}

__device__ __forceinline__ float2 load_cg(const float2* pointer) {
  float2 v;
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "l"(pointer)
               : "memory");
  return v;
}

__device__ __forceinline__ float load_cg(const float* pointer) {
  float v;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(pointer) : "memory");
  return v;
}

__device__ __forceinline__ int4 load_cg(const int4* pointer) {
  int4 v;
  asm volatile("ld.global.cg.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(pointer)
               : "memory");
  return v;
}

__device__ __forceinline__ void store_cg(float2* pointer, float2 v) {
  asm volatile("st.global.cg.v2.f32 [%0], {%1, %2};" ::"l"(pointer), "f"(v.x), "f"(v.y) : "memory");
}

__device__ __forceinline__ void store_cg(float* pointer, float v) {
  asm volatile("st.global.cg.f32 [%0], %1;" ::"l"(pointer), "f"(v) : "memory");
}

__device__ __forceinline__ void store_cg(int4* pointer, int4 v) {
  asm volatile("st.global.cg.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

// 16 bytes, loaded in program order with the other volatile operations (Q has to be asked for
// before KV is).
__device__ __forceinline__ uint4 load_16(const void* pointer) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(pointer)
               : "memory");
  return v;
}

// ---- Programmatic dependent launch (Target::programmatic_launch)
// ---------------------------------------------------

// Returns when the kernels that this one depends on have ended and their writes are visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// Lets the dependent kernel start its prologue.
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace qrow::ptx
