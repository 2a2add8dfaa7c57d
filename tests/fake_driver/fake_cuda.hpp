// Control of the stand-in for libcuda: what it pretends to be, what it fails, what it has seen.
// Tests link the library and name the same file in QROW_LIBCUDA, so that these functions act on the
// instance that qrow has loaded.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "runtime/emulator/driver.hpp"
#include "templates/common/params.cuh"

namespace fake_cuda {

struct Launch {
  char kernel[128];
  unsigned grid_x, grid_y, grid_z;
  unsigned threads;
  unsigned smem_bytes;
  CUstream stream;
  bool overlaps;  // programmatic stream serialization
  qrow::DecodeParams params;
};

using Machine = qrow::emulator::DeviceModel;

extern "C" {
// Back to a fresh machine: no failures, no calls seen, nothing captured, no current context.
void fake_cuda_reset(const Machine* machine);
// The n-th call from now on (1: the next) of the function of this symbol fails, once.
void fake_cuda_fail(const char* symbol, int nth, CUresult result);
int fake_cuda_calls(const char* symbol);  // since the last reset
int fake_cuda_all_calls();
int fake_cuda_launches();
const Launch* fake_cuda_launch(int index);
void fake_cuda_capture(CUstream stream, bool on);
int fake_cuda_live_libraries();
// Counts no calls and keeps no launches from now on: the stand-in itself allocates and locks
// nothing.
void fake_cuda_be_quiet(bool quiet);
unsigned long long fake_cuda_quiet_calls(const char* symbol);
// Where kernels are emulated: the order of threads (0: in turn), and whether asynchronous copies
// land at random; and what was found since the last take.
void fake_cuda_schedule(unsigned long long seed, bool random_landing);
void fake_cuda_take_report(qrow::emulator::Report* report);
}

// An image that cuLibraryLoadData refuses as made for another GPU. Images without the ELF magic are
// refused as damaged.
inline constexpr char kRefusedImage[] = "\177ELFrefused";
inline constexpr char kGoodImage[] = "\177ELFgood";

}  // namespace fake_cuda
