// A stand-in for libcuda: records calls, keeps device memory on the host, fails on demand. It runs
// no kernel, unless QROW_FAKE_EMULATE names a folder of kernels compiled for the CPU.
#include "tests/fake_driver/fake_cuda.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/emulator/driver.hpp"

namespace {

using fake_cuda::Launch;
using fake_cuda::Machine;

struct Failure {
  int countdown;
  CUresult result;
};

struct World {
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::vector<Launch> launches;
  std::set<CUstream> captured;
  int live_libraries = 0;
};

World& world() {
  static World* the = new World;  // qrow may unload kernels while the process ends
  return *the;
}

std::atomic<bool> quiet{false};
std::atomic<unsigned long long> quiet_launches{0}, quiet_others{0};

using qrow::emulator::EmulatedDriver;

// The driver behind this one.
const qrow::DriverFunctions& real() {
  static const qrow::DriverFunctions functions = EmulatedDriver::functions();
  return functions;
}

// It, where QROW_FAKE_EMULATE names a folder of kernels for the CPU.
EmulatedDriver* emulation() {
  static EmulatedDriver* const driver = [] {
    const char* folder = std::getenv("QROW_FAKE_EMULATE");
    if (folder != nullptr) EmulatedDriver::get().set_objects(folder);
    return folder != nullptr ? &EmulatedDriver::get() : nullptr;
  }();
  return driver;
}

struct Kernel {
  std::string name;
  const qrow::emulator::Object* object = nullptr;  // where kernels are emulated
};
struct Library {
  std::map<std::string, Kernel> kernels;
};

// What every entry point does first: counts, and fails where that was asked.
CUresult enter(const char* symbol) {
  if (quiet.load(std::memory_order_relaxed)) {
    (std::strcmp(symbol, "cuLaunchKernelEx") == 0 ? quiet_launches : quiet_others)
        .fetch_add(1, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  World& w = world();
  std::lock_guard lock(w.mutex);
  ++w.calls[symbol];
  const auto failure = w.failures.find(symbol);
  if (failure == w.failures.end() || --failure->second.countdown > 0) return CUDA_SUCCESS;
  const CUresult result = failure->second.result;
  w.failures.erase(failure);
  return result;
}

#define ENTER(symbol) \
  if (const CUresult entered = enter(#symbol); entered != CUDA_SUCCESS) return entered

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void fake_cuda_reset(const Machine* machine) {
  World& w = world();
  std::lock_guard lock(w.mutex);
  EmulatedDriver::get().set_model(machine != nullptr ? *machine : Machine{});
  w.calls.clear();
  w.failures.clear();
  w.launches.clear();
  w.captured.clear();
  quiet = false;
  quiet_launches = quiet_others = 0;
  real().cuCtxSetCurrent(nullptr);
}
void fake_cuda_fail(const char* symbol, int nth, CUresult result) {
  std::lock_guard lock(world().mutex);
  world().failures[symbol] = {nth, result};
}
int fake_cuda_calls(const char* symbol) {
  std::lock_guard lock(world().mutex);
  const auto place = world().calls.find(symbol);
  return place != world().calls.end() ? place->second : 0;
}
int fake_cuda_all_calls() {
  std::lock_guard lock(world().mutex);
  int all = 0;
  for (const auto& [name, count] : world().calls) all += count;
  return all;
}
int fake_cuda_launches() {
  std::lock_guard lock(world().mutex);
  return static_cast<int>(world().launches.size());
}
const Launch* fake_cuda_launch(int index) {
  std::lock_guard lock(world().mutex);
  return &world().launches.at(static_cast<std::size_t>(index));
}
void fake_cuda_capture(CUstream stream, bool on) {
  std::lock_guard lock(world().mutex);
  if (on) {
    world().captured.insert(stream);
  } else {
    world().captured.erase(stream);
  }
}
int fake_cuda_live_libraries() {
  std::lock_guard lock(world().mutex);
  return world().live_libraries;
}
void fake_cuda_be_quiet(bool on) { quiet = on; }
unsigned long long fake_cuda_quiet_calls(const char* symbol) {
  return std::strcmp(symbol, "cuLaunchKernelEx") == 0 ? quiet_launches : quiet_others;
}

void fake_cuda_schedule(unsigned long long seed, bool random_landing) {
  EmulatedDriver::get().set_schedule(
      seed, random_landing ? qrow::emulator::Landing::random : qrow::emulator::Landing::late);
}
void fake_cuda_take_report(qrow::emulator::Report* report) {
  *report = EmulatedDriver::get().take_report();
}

CUresult cuInit(unsigned) {
  ENTER(cuInit);
  // For whole processes under test, which cannot call fake_cuda_fail().
  const char* result = std::getenv("FAKE_CUDA_INIT_RESULT");
  return result != nullptr ? static_cast<CUresult>(std::atoi(result)) : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
#ifdef FAKE_CUDA_OLD_DRIVER
  *version = 11040;
#else
  return real().cuDriverGetVersion(version);
#endif
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  return real().cuGetErrorName(error, text);
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the stand-in was told";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  return real().cuDeviceGetCount(count);
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER(cuDeviceGet);
  return real().cuDeviceGet(device, ordinal);
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  ENTER(cuDeviceGetName);
  return real().cuDeviceGetName(name, length, device);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER(cuDeviceGetAttribute);
  return real().cuDeviceGetAttribute(value, which, device);
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  ENTER(cuDeviceTotalMem_v2);
  return real().cuDeviceTotalMem_v2(bytes, device);
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  return real().cuDevicePrimaryCtxRetain(context, device);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  return real().cuDevicePrimaryCtxRelease_v2(device);
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER(cuCtxGetCurrent);
  return real().cuCtxGetCurrent(context);
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER(cuCtxSetCurrent);
  return real().cuCtxSetCurrent(context);
}
CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER(cuCtxGetDevice);
  return real().cuCtxGetDevice(device);
}
CUresult cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  return real().cuCtxSynchronize();
}

#ifndef FAKE_CUDA_OLD_DRIVER
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  ENTER(cuLibraryLoadData);
  if (std::memcmp(image, fake_cuda::kGoodImage, 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  // An image may be shorter than the one compared with; all end with a zero.
  if (std::strcmp(static_cast<const char*>(image), fake_cuda::kRefusedImage) == 0)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *library = reinterpret_cast<CUlibrary>(new Library);
  std::lock_guard lock(world().mutex);
  ++world().live_libraries;
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary library) {
  ENTER(cuLibraryUnload);
  delete reinterpret_cast<Library*>(library);
  std::lock_guard lock(world().mutex);
  --world().live_libraries;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  ENTER(cuLibraryGetKernel);
  Kernel& made = reinterpret_cast<Library*>(library)->kernels[name];
  made.name = name;
  if (emulation() != nullptr) {
    std::string why;
    made.object = emulation()->find(name, &why);
    if (made.object == nullptr) {
      std::fprintf(stderr, "no emulated kernel: %s\n", why.c_str());
      return CUDA_ERROR_NOT_FOUND;
    }
  }
  *kernel = reinterpret_cast<CUkernel>(&made);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ENTER(cuKernelGetFunction);
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
#endif
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  ENTER(cuFuncGetAttribute);
  return real().cuFuncGetAttribute(value, which, function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  ENTER(cuFuncSetAttribute);
  return real().cuFuncSetAttribute(function, which, value);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     std::size_t bytes) {
  ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  return real().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, bytes);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void**) {
  ENTER(cuLaunchKernelEx);
  if (quiet.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  Launch launch{};
  std::strncpy(launch.kernel, reinterpret_cast<Kernel*>(function)->name.c_str(),
               sizeof(launch.kernel) - 1);
  launch.grid_x = config->gridDimX;
  launch.grid_y = config->gridDimY;
  launch.grid_z = config->gridDimZ;
  launch.threads = config->blockDimX;
  launch.smem_bytes = config->sharedMemBytes;
  launch.stream = config->hStream;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    launch.overlaps |=
        config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  if (const auto* object = reinterpret_cast<Kernel*>(function)->object)
    return emulation()->launch(*object, *config, arguments);
  launch.params = *static_cast<const qrow::DecodeParams*>(arguments[0]);
  std::lock_guard lock(world().mutex);
  world().launches.push_back(launch);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  ENTER(cuStreamIsCapturing);
  std::lock_guard lock(world().mutex);
  const bool captured = world().captured.contains(stream);
  if (stream == CU_STREAM_LEGACY && !world().captured.empty())
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  return real().cuMemGetInfo_v2(free, total);
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  ENTER(cuMemAlloc_v2);
  return real().cuMemAlloc_v2(address, bytes);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER(cuMemFree_v2);
  return real().cuMemFree_v2(address);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  ENTER(cuMemcpyHtoD_v2);
  return real().cuMemcpyHtoD_v2(to, from, bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  ENTER(cuMemcpyDtoH_v2);
  return real().cuMemcpyDtoH_v2(to, from, bytes);
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char byte, std::size_t bytes) {
  ENTER(cuMemsetD8_v2);
  return real().cuMemsetD8_v2(to, byte, bytes);
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  ENTER(cuStreamCreate);
  return real().cuStreamCreate(stream, flags);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER(cuStreamDestroy_v2);
  return real().cuStreamDestroy_v2(stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  ENTER(cuStreamSynchronize);
  return real().cuStreamSynchronize(stream);
}

}  // extern "C"
#pragma GCC visibility pop
