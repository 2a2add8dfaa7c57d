#include "runtime/emulator/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace qrow::emulator {

EmulatedDriver& EmulatedDriver::get() {
  // Never destroyed: memory may be given back while the process ends.
  static EmulatedDriver* const driver = new EmulatedDriver;
  return *driver;
}

void EmulatedDriver::set_model(const DeviceModel& model) {
  std::lock_guard lock(mutex_);
  model_ = model;
}

void EmulatedDriver::set_built_in(std::span<const Entry* const> built_in) {
  std::lock_guard lock(mutex_);
  built_in_ = built_in;
}

bool EmulatedDriver::has_built_in(const std::string& kernel) const {
  return std::ranges::any_of(built_in_, [&](const Entry* entry) { return entry->name == kernel; });
}

void EmulatedDriver::set_objects(const std::string& folder) {
  std::lock_guard lock(mutex_);
  folder_ = folder;
}

void EmulatedDriver::set_schedule(std::uint64_t seed, Landing landing) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  landing_ = landing;
}

Report EmulatedDriver::take_report() {
  std::lock_guard lock(mutex_);
  return std::exchange(report_, {});
}

const Object* EmulatedDriver::find(const std::string& kernel, std::string* why) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<const Object>& object = objects_[kernel];
  if (object != nullptr) return object.get();
  for (const Entry* entry : built_in_)
    if (entry->name == kernel) object = std::make_unique<Object>(entry);
  if (object == nullptr && folder_.empty()) {
    *why = fmt::format("no kernel '{}' is built into this program", kernel);
  } else if (object == nullptr) {
    object = Object::load(folder_ + '/' + kernel + ".so", kernel, why);
  }
  return object.get();
}

void* EmulatedDriver::allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::lock_guard lock(mutex_);
  if (memory != nullptr) memory_.add(memory, bytes);
  return memory;
}

void EmulatedDriver::free(void* memory) {
  {
    std::lock_guard lock(mutex_);
    memory_.remove(memory);
  }
  std::free(memory);
}

CUresult EmulatedDriver::launch(const Object& object, const CUlaunchConfig& config,
                                void** arguments) {
  std::lock_guard lock(mutex_);
  Launch launch;
  launch.entry = &object.entry();
  launch.params = arguments[0];
  launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  launch.threads = config.blockDimX;
  launch.smem_bytes = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    launch.overlaps_previous |=
        config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        config.attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  launch.landing = landing_;
  launch.seed = seed_;
  launch.code_begin = object.begin();
  launch.code_end = object.end();
  const Report report = grid_.run(launch);
  report_.merge(report);
  if (report.clean()) return CUDA_SUCCESS;
  std::fprintf(stderr, "%s: the emulator found faults:\n%s", object.entry().name,
               report.text().c_str());
  return CUDA_ERROR_LAUNCH_FAILED;
}

// ---- libcuda's functions ----

namespace {

EmulatedDriver& driver() { return EmulatedDriver::get(); }

thread_local CUcontext current = nullptr;

// A context is the address of its device's place in here.
char contexts[16];
CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(&contexts[device]); }
int device_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<char*>(context) - contexts);
}

CUresult init(unsigned) { return CUDA_SUCCESS; }
CUresult driver_version(int* version) {
  *version = driver().model().driver_version;
  return CUDA_SUCCESS;
}
CUresult error_name(CUresult error, const char** text) {
  struct Row {
    CUresult code;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
  };
  *text = nullptr;
  for (const Row& row : kRows)
    if (row.code == error) *text = row.name;
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult error_string(CUresult, const char** text) {
  *text = "from the driver that runs kernels on the CPU";
  return CUDA_SUCCESS;
}

CUresult device_count(int* count) {
  *count = driver().model().num_devices;
  return CUDA_SUCCESS;
}
CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_name(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "CPU emulation of sm_%d%d",
                driver().model().major, driver().model().minor);
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice) {
  const DeviceModel& m = driver().model();
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = m.major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = m.minor;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = m.num_sms;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 233472;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 50 << 20;
      break;
    default:
      *value = 1;
  }
  return CUDA_SUCCESS;
}
CUresult total_memory(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{80} << 30;
  return CUDA_SUCCESS;
}

CUresult retain_context(CUcontext* context, CUdevice device) {
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult release_context(CUdevice) { return CUDA_SUCCESS; }
CUresult get_current(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult set_current(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult current_device(CUdevice* device) {
  *device = device_of(current);
  return CUDA_SUCCESS;
}
CUresult synchronize() { return CUDA_SUCCESS; }

CUresult load_library(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) {
  if (std::memcmp(image, kImage, 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  *library = reinterpret_cast<CUlibrary>(new char);
  return CUDA_SUCCESS;
}
CUresult unload_library(CUlibrary library) {
  delete reinterpret_cast<char*>(library);
  return CUDA_SUCCESS;
}
CUresult get_kernel(CUkernel* kernel, CUlibrary, const char* name) {
  std::string why;
  const Object* object = driver().find(name, &why);
  if (object == nullptr) {
    std::fprintf(stderr, "no emulated kernel: %s\n", why.c_str());
    return CUDA_ERROR_NOT_FOUND;
  }
  *kernel = reinterpret_cast<CUkernel>(const_cast<Object*>(object));
  return CUDA_SUCCESS;
}
CUresult get_function(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult get_function_attribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult set_function_attribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult occupancy(int* blocks, CUfunction, int, std::size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
CUresult launch_kernel(const CUlaunchConfig* config, CUfunction function, void** arguments,
                       void**) {
  return driver().launch(*reinterpret_cast<const Object*>(function), *config, arguments);
}

CUresult is_capturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult memory_info(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{80} << 30;
  return CUDA_SUCCESS;
}
CUresult allocate_memory(CUdeviceptr* address, std::size_t bytes) {
  void* memory = driver().allocate(bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult free_memory(CUdeviceptr address) {
  driver().free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult set_bytes(CUdeviceptr to, unsigned char byte, std::size_t bytes) {
  std::memset(reinterpret_cast<void*>(to), byte, bytes);
  return CUDA_SUCCESS;
}
CUresult create_stream(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(new char);
  return CUDA_SUCCESS;
}
CUresult destroy_stream(CUstream stream) {
  delete reinterpret_cast<char*>(stream);
  return CUDA_SUCCESS;
}
CUresult wait_for_stream(CUstream) { return CUDA_SUCCESS; }

}  // namespace

DriverFunctions EmulatedDriver::functions() {
  DriverFunctions f;
  f.cuInit = &init;
  f.cuDriverGetVersion = &driver_version;
  f.cuGetErrorName = &error_name;
  f.cuGetErrorString = &error_string;
  f.cuDeviceGet = &device_get;
  f.cuDeviceGetCount = &device_count;
  f.cuDeviceGetName = &device_name;
  f.cuDeviceGetAttribute = &device_attribute;
  f.cuDeviceTotalMem_v2 = &total_memory;
  f.cuDevicePrimaryCtxRetain = &retain_context;
  f.cuDevicePrimaryCtxRelease_v2 = &release_context;
  f.cuCtxGetCurrent = &get_current;
  f.cuCtxSetCurrent = &set_current;
  f.cuCtxGetDevice = &current_device;
  f.cuCtxSynchronize = &synchronize;
  f.cuLibraryLoadData = &load_library;
  f.cuLibraryUnload = &unload_library;
  f.cuLibraryGetKernel = &get_kernel;
  f.cuKernelGetFunction = &get_function;
  f.cuFuncGetAttribute = &get_function_attribute;
  f.cuFuncSetAttribute = &set_function_attribute;
  f.cuOccupancyMaxActiveBlocksPerMultiprocessor = &occupancy;
  f.cuLaunchKernelEx = &launch_kernel;
  f.cuStreamIsCapturing = &is_capturing;
  f.cuMemGetInfo_v2 = &memory_info;
  f.cuMemAlloc_v2 = &allocate_memory;
  f.cuMemFree_v2 = &free_memory;
  f.cuMemcpyHtoD_v2 = &copy_in;
  f.cuMemcpyDtoH_v2 = &copy_out;
  f.cuMemsetD8_v2 = &set_bytes;
  f.cuStreamCreate = &create_stream;
  f.cuStreamDestroy_v2 = &destroy_stream;
  f.cuStreamSynchronize = &wait_for_stream;
  return f;
}

}  // namespace qrow::emulator
