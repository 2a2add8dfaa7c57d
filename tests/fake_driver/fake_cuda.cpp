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

#include "tests/fake_driver/emulation.hpp"

namespace {

using fake_cuda::Launch;
using fake_cuda::Machine;

struct Failure {
  int countdown;
  CUresult result;
};

struct World {
  std::mutex mutex;
  Machine machine;
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
thread_local CUcontext current = nullptr;

using fake_cuda::Emulation;

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

CUcontext context_of(int device) {
  static char contexts[16];
  return reinterpret_cast<CUcontext>(&contexts[device]);
}
int device_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<char*>(context) -
                          reinterpret_cast<char*>(context_of(0)));
}

int attribute_of(const Machine& m, CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return m.major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return m.minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return m.num_sms;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 50 << 20;
    default:
      return 1;
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void fake_cuda_reset(const Machine* machine) {
  World& w = world();
  std::lock_guard lock(w.mutex);
  w.machine = machine != nullptr ? *machine : Machine{};
  w.calls.clear();
  w.failures.clear();
  w.launches.clear();
  w.captured.clear();
  quiet = false;
  quiet_launches = quiet_others = 0;
  current = nullptr;
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
  if (Emulation* emulation = Emulation::get()) emulation->set_schedule(seed, random_landing);
}
void fake_cuda_take_report(qrow::emulator::Report* report) {
  if (Emulation* emulation = Emulation::get()) *report = emulation->take_report();
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
  *version = world().machine.driver_version;
#endif
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_ERROR_INVALID_VALUE:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *text = "CUDA_ERROR_NO_DEVICE";
      break;
    case CUDA_ERROR_INVALID_IMAGE:
      *text = "CUDA_ERROR_INVALID_IMAGE";
      break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      *text = "CUDA_ERROR_NO_BINARY_FOR_GPU";
      break;
    case CUDA_ERROR_NOT_FOUND:
      *text = "CUDA_ERROR_NOT_FOUND";
      break;
    case CUDA_ERROR_UNKNOWN:
      *text = "CUDA_ERROR_UNKNOWN";
      break;
    default:
      *text = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the stand-in was told";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = world().machine.num_devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  ENTER(cuDeviceGetName);
  std::strncpy(name, "Stand-in GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  ENTER(cuDeviceGetAttribute);
  *value = attribute_of(world().machine, which);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = std::size_t{80} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER(cuCtxGetCurrent);
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER(cuCtxSetCurrent);
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER(cuCtxGetDevice);
  *device = device_of(current);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_OLD_DRIVER
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  ENTER(cuLibraryLoadData);
  if (std::memcmp(image, fake_cuda::kGoodImage, 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  if (std::memcmp(image, fake_cuda::kRefusedImage, sizeof(fake_cuda::kRefusedImage) - 1) == 0)
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
  if (Emulation* emulation = Emulation::get()) {
    std::string why;
    made.object = emulation->find(name, &why);
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
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  ENTER(cuFuncGetAttribute);
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  ENTER(cuFuncSetAttribute);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = 1;
  return CUDA_SUCCESS;
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
    return Emulation::get()->launch(*object, *config, arguments);
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
  *free = *total = std::size_t{80} << 30;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  ENTER(cuMemAlloc_v2);
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  if (Emulation* emulation = Emulation::get(); emulation != nullptr && memory != nullptr)
    emulation->allocated(memory, bytes);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER(cuMemFree_v2);
  if (Emulation* emulation = Emulation::get()) emulation->freed(reinterpret_cast<void*>(address));
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  ENTER(cuMemcpyHtoD_v2);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  ENTER(cuMemcpyDtoH_v2);
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char byte, std::size_t bytes) {
  ENTER(cuMemsetD8_v2);
  std::memset(reinterpret_cast<void*>(to), byte, bytes);
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  ENTER(cuStreamCreate);
  *stream = reinterpret_cast<CUstream>(new char);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER(cuStreamDestroy_v2);
  delete reinterpret_cast<char*>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  ENTER(cuStreamSynchronize);
  return CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
