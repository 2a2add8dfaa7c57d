#include "runtime/driver/device.hpp"

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.check(driver->cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

}  // namespace

int device_count(const Driver& driver) {
  int count = 0;
  driver.check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

int current_device(const Driver& driver) {
  CUcontext context = nullptr;
  driver.check(driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context == nullptr) {
    fail(Status::no_device,
         "the calling thread has no current CUDA context: make one current (cudaSetDevice and "
         "cudaFree(0), "
         "torch.cuda.init(), cuCtxSetCurrent), or name the device by its ordinal");
  }
  CUdevice device = 0;
  driver.check(driver->cuCtxGetDevice(&device), "cuCtxGetDevice");
  return device;  // handles of the driver API are ordinals
}

DeviceInfo query_device(const Driver& driver, int ordinal) {
  const int count = device_count(driver);
  if (ordinal < 0 || ordinal >= count) {
    fail(Status::no_device, "device {} was asked for; this machine has {} CUDA device{}{}", ordinal,
         count, count == 1 ? "" : "s", count > 0 ? fmt::format(" (0 to {})", count - 1) : "");
  }
  CUdevice device = 0;
  driver.check(driver->cuDeviceGet(&device, ordinal), "cuDeviceGet");
  DeviceInfo info;
  info.ordinal = ordinal;
  char name[256] = {};
  driver.check(driver->cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  info.name = name;
  info.major = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  info.minor = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.num_sms = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.smem_per_block_bytes =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.smem_per_sm_bytes =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.sm_clock_khz = attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memory_clock_khz = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = attribute(driver, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  std::size_t bytes = 0;
  driver.check(driver->cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem_v2");
  info.memory_bytes = static_cast<long long>(bytes);
  return info;
}

}  // namespace qrow
