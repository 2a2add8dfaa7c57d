// templates/common/ptx.cuh for the emulator: the same names, each passed on to the machine. Kernels
// find this file in its place.
#pragma once

#include "runtime/emulator/device/arithmetic.hpp"
#include "runtime/emulator/device/cuda.hpp"
#include "templates/common/dtype.cuh"

namespace qrow::ptx {

using emulator::machine;

QROW_PLAIN char* dynamic_shared() { return machine().dynamic_shared(); }

template <typename T>
QROW_PLAIN T& static_shared() {
  static const char type = 0;
  return *static_cast<T*>(machine().static_shared(&type, sizeof(T)));
}

QROW_OPERATION unsigned smem_address(const void* pointer) {
  return machine().shared_address(pointer, QROW_SITE);
}
QROW_PLAIN unsigned long long evict_first_policy() { return 1; }
QROW_OPERATION void cp_async_16(unsigned smem, const void* global, int valid_bytes,
                                unsigned long long) {
  machine().cp_async(smem, global, 16, static_cast<unsigned>(valid_bytes), QROW_SITE);
}
QROW_OPERATION void cp_async_16(unsigned smem, const void* global) {
  machine().cp_async(smem, global, 16, 16, QROW_SITE);
}
QROW_OPERATION void cp_async_commit() { machine().cp_async_commit(); }
template <int kPending>
QROW_OPERATION void cp_async_wait() {
  machine().cp_async_wait(kPending);
}
QROW_OPERATION void named_barrier(int id, int threads) {
  machine().named_barrier(id, threads, QROW_SITE);
}
QROW_OPERATION void store_shared(unsigned smem, uint2 v) {
  machine().store_shared(smem, &v, sizeof v, QROW_SITE);
}
QROW_OPERATION void store_shared(unsigned smem, uint4 v) {
  machine().store_shared(smem, &v, sizeof v, QROW_SITE);
}

QROW_OPERATION void ldmatrix_x4(unsigned (&r)[4], unsigned smem) {
  machine().ldmatrix_x4(r, smem, false, QROW_SITE);
}
QROW_OPERATION void ldmatrix_x4_trans(unsigned (&r)[4], unsigned smem) {
  machine().ldmatrix_x4(r, smem, true, QROW_SITE);
}
QROW_OPERATION void stmatrix_x4(unsigned smem, const unsigned (&r)[4]) {
  machine().stmatrix_x4(smem, r, false, QROW_SITE);
}
QROW_OPERATION void stmatrix_x4_trans(unsigned smem, const unsigned (&r)[4]) {
  machine().stmatrix_x4(smem, r, true, QROW_SITE);
}
QROW_OPERATION unsigned movmatrix_trans(unsigned r) {
  return machine().movmatrix_trans(r, QROW_SITE);
}
template <DType kType>
QROW_OPERATION void mma_16x8x16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  machine().mma_16x8x16(kType == DType::bf16 ? emulator::Element::bf16 : emulator::Element::f16, c,
                        a, b0, b1, QROW_SITE);
}

QROW_PLAIN float exp2_approx(float x) { return emulator::exp2_approx(x); }
QROW_PLAIN float log2_approx(float x) { return emulator::log2_approx(x); }
QROW_PLAIN unsigned pack_bf16x2(float low, float high) {
  return emulator::float_to_bf16(high) << 16 | emulator::float_to_bf16(low);
}
QROW_PLAIN unsigned pack_f16x2(float low, float high) {
  return emulator::float_to_f16(high) << 16 | emulator::float_to_f16(low);
}
QROW_PLAIN float f16_to_float(unsigned short bits) { return emulator::f16_to_float(bits); }
QROW_PLAIN void e4m3x4_to_f16x2(unsigned bytes, unsigned& low, unsigned& high) {
  const auto f16 = [bytes](int byte) { return emulator::e4m3_to_f16(bytes >> (8 * byte) & 255); };
  low = f16(1) << 16 | f16(0);
  high = f16(3) << 16 | f16(2);
}

// A load or store of one instruction: checked as a whole, so that a misaligned vector is seen.
template <typename T>
QROW_PLAIN T load(const void* pointer, emulator::Site site) {
  machine().read(pointer, sizeof(T), sizeof(T), site);
  T value;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}
template <typename T>
QROW_PLAIN void store(void* pointer, T value, emulator::Site site) {
  machine().write(pointer, sizeof(T), sizeof(T), site);
  std::memcpy(pointer, &value, sizeof value);
}
QROW_OPERATION float4 load_cg(const float4* pointer) { return load<float4>(pointer, QROW_SITE); }
QROW_OPERATION float2 load_cg(const float2* pointer) { return load<float2>(pointer, QROW_SITE); }
QROW_OPERATION float load_cg(const float* pointer) { return load<float>(pointer, QROW_SITE); }
QROW_OPERATION int4 load_cg(const int4* pointer) { return load<int4>(pointer, QROW_SITE); }
QROW_OPERATION void store_cg(float2* pointer, float2 v) { store(pointer, v, QROW_SITE); }
QROW_OPERATION void store_cg(float* pointer, float v) { store(pointer, v, QROW_SITE); }
QROW_OPERATION void store_cg(int4* pointer, int4 v) { store(pointer, v, QROW_SITE); }
QROW_OPERATION uint4 load_16(const void* pointer) { return load<uint4>(pointer, QROW_SITE); }

QROW_OPERATION void wait_for_previous_kernel() { machine().wait_for_previous_kernel(); }
QROW_PLAIN void launch_dependents() {}

}  // namespace qrow::ptx
