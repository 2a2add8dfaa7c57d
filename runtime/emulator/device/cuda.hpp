// The CUDA language for a host compiler: what the templates use of it, and no more. Included before
// a kernel's entry text.
#pragma once

#include <cmath>
#include <cstring>

#include "runtime/emulator/device/machine.hpp"

#ifndef QROW_PLAIN_ACCESSES
#define QROW_PLAIN_ACCESSES false  // true: by who compiles with plain_accesses.hpp
#endif

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))

// The emulator's own code: without the instrumentation of plain loads and stores.
#define QROW_PLAIN inline __attribute__((no_sanitize("thread")))
// An operation that the emulator sees: a call of its own, so that its return address is its place
// in the template.
#define QROW_OPERATION QROW_PLAIN __attribute__((noinline))
#define QROW_SITE __builtin_return_address(0)

namespace qrow::emulator {

inline Thread* const* running = nullptr;
QROW_PLAIN void bind(Thread* const* slot) { running = slot; }
QROW_PLAIN Machine& machine() { return *(*running)->machine; }
QROW_PLAIN Index thread_index() { return (*running)->thread; }
QROW_PLAIN Index block_index() { return (*running)->block; }
QROW_PLAIN Index block_size() { return (*running)->block_dim; }
QROW_PLAIN Index grid_size() { return (*running)->grid_dim; }

template <typename To, typename From>
QROW_PLAIN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same number of bits");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <typename T>
QROW_PLAIN unsigned long long to_word(T value) {
  static_assert(sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
  unsigned long long word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <typename T>
QROW_PLAIN T from_word(unsigned long long word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace qrow::emulator

#define threadIdx (::qrow::emulator::thread_index())
#define blockIdx (::qrow::emulator::block_index())
#define blockDim (::qrow::emulator::block_size())
#define gridDim (::qrow::emulator::grid_size())

// ---- Vector types ----

struct __align__(8) float2 {
  float x, y;
};
struct __align__(16) float4 {
  float x, y, z, w;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
struct __align__(16) int4 {
  int x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

// ---- Bits and arithmetic ----

QROW_PLAIN float __uint_as_float(unsigned bits) { return qrow::emulator::bits_as<float>(bits); }
QROW_PLAIN float __int_as_float(int bits) { return qrow::emulator::bits_as<float>(bits); }
QROW_PLAIN unsigned __float_as_uint(float f) { return qrow::emulator::bits_as<unsigned>(f); }
QROW_PLAIN int __float_as_int(float f) { return qrow::emulator::bits_as<int>(f); }
QROW_PLAIN double __longlong_as_double(long long bits) {
  return qrow::emulator::bits_as<double>(bits);
}
QROW_PLAIN int __ffs(int bits) { return __builtin_ffs(bits); }
QROW_PLAIN int __popc(unsigned bits) { return __builtin_popcount(bits); }
// Byte i of the result is byte `selector` nibble i of the eight bytes of x (0 to 3) and y (4 to 7).
QROW_PLAIN unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7))) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;  // the sign, spread over the byte
    result |= byte << (8 * i);
  }
  return result;
}

// ---- Barriers and exchange ----

QROW_OPERATION void __syncthreads() { qrow::emulator::machine().block_barrier(QROW_SITE); }
QROW_OPERATION void __syncwarp(unsigned mask = ~0u) {
  qrow::emulator::machine().warp_barrier(mask, QROW_SITE);
}
template <typename T>
QROW_OPERATION T __shfl_sync(unsigned mask, T value, int lane) {
  using namespace qrow::emulator;
  return from_word<T>(machine().shuffle(Shuffle::index, mask, to_word(value), lane, QROW_SITE));
}
template <typename T>
QROW_OPERATION T __shfl_up_sync(unsigned mask, T value, int distance) {
  using namespace qrow::emulator;
  return from_word<T>(machine().shuffle(Shuffle::up, mask, to_word(value), distance, QROW_SITE));
}
template <typename T>
QROW_OPERATION T __shfl_down_sync(unsigned mask, T value, int distance) {
  using namespace qrow::emulator;
  return from_word<T>(machine().shuffle(Shuffle::down, mask, to_word(value), distance, QROW_SITE));
}
template <typename T>
QROW_OPERATION T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  using namespace qrow::emulator;
  return from_word<T>(
      machine().shuffle(Shuffle::exclusive_or, mask, to_word(value), lanes, QROW_SITE));
}
#define QROW_REDUCTION(name, type, what)                                     \
  QROW_OPERATION type name(unsigned mask, type value) {                      \
    return static_cast<type>(qrow::emulator::machine().reduce(               \
        qrow::emulator::Reduction::what, mask, static_cast<unsigned>(value), \
        static_cast<type>(-1) < 0, QROW_SITE));                              \
  }
QROW_REDUCTION(__reduce_add_sync, unsigned, add)
QROW_REDUCTION(__reduce_add_sync, int, add)
QROW_REDUCTION(__reduce_min_sync, unsigned, smallest)
QROW_REDUCTION(__reduce_min_sync, int, smallest)
QROW_REDUCTION(__reduce_max_sync, unsigned, largest)
QROW_REDUCTION(__reduce_max_sync, int, largest)
QROW_REDUCTION(__reduce_and_sync, unsigned, bits_and)
QROW_REDUCTION(__reduce_or_sync, unsigned, bits_or)
QROW_REDUCTION(__reduce_xor_sync, unsigned, bits_xor)
#undef QROW_REDUCTION
QROW_OPERATION unsigned __ballot_sync(unsigned mask, bool predicate) {
  using namespace qrow::emulator;
  return machine().vote(Vote::ballot, mask, predicate, QROW_SITE);
}
QROW_OPERATION int __any_sync(unsigned mask, bool predicate) {
  using namespace qrow::emulator;
  return machine().vote(Vote::any, mask, predicate, QROW_SITE) != 0;
}
QROW_OPERATION int __all_sync(unsigned mask, bool predicate) {
  using namespace qrow::emulator;
  return machine().vote(Vote::all, mask, predicate, QROW_SITE) != 0;
}
QROW_OPERATION int atomicOr(int* address, int bits) {
  return qrow::emulator::machine().atomic_or(address, bits, QROW_SITE);
}

// The last line of an emulated entry: what the loader looks for.
#define QROW_EMULATED_ENTRY(kernel, Params)                                                        \
  extern "C" __attribute__((visibility("default"))) const qrow::emulator::Entry kernel##_emulated; \
  const qrow::emulator::Entry kernel##_emulated = {                                                \
      #kernel, sizeof(Params), QROW_PLAIN_ACCESSES,                                                \
      [](const void* params) { kernel(*static_cast<const Params*>(params)); },                     \
      &qrow::emulator::bind};
