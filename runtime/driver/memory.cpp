#include "runtime/driver/memory.hpp"

#include "runtime/base/error.hpp"

namespace qrow {

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
  driver.check(driver->cuCtxGetCurrent(&previous_), "cuCtxGetCurrent");
  driver.check(driver->cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  CUcontext context = nullptr;
  driver.check(driver->cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  if (const CUresult result = driver->cuCtxSetCurrent(context); result != CUDA_SUCCESS) {
    driver->cuDevicePrimaryCtxRelease_v2(device_);
    driver.raise(result, "cuCtxSetCurrent");
  }
}

PrimaryContext::~PrimaryContext() {
  driver_->cuCtxSetCurrent(previous_);
  driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

DeviceBuffer::DeviceBuffer(const Driver& driver, std::size_t bytes)
    : driver_(&driver), bytes_(bytes) {
  if (bytes == 0) return;
  if (const CUresult result = driver->cuMemAlloc_v2(&address_, bytes); result != CUDA_SUCCESS) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      fail(Status::out_of_memory, "{} bytes of device memory were asked for and are not free",
           bytes);
    }
    driver.raise(result, "cuMemAlloc_v2");
  }
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) (*driver_)->cuMemFree_v2(address_);
}

void DeviceBuffer::write(const void* from, std::size_t bytes, std::size_t offset) {
  if (bytes == 0) return;
  driver_->check((*driver_)->cuMemcpyHtoD_v2(address_ + offset, from, bytes), "cuMemcpyHtoD_v2");
}

void DeviceBuffer::read(void* to, std::size_t bytes, std::size_t offset) const {
  if (bytes == 0) return;
  driver_->check((*driver_)->cuMemcpyDtoH_v2(to, address_ + offset, bytes), "cuMemcpyDtoH_v2");
}

void DeviceBuffer::fill(unsigned char byte) {
  if (bytes_ != 0)
    driver_->check((*driver_)->cuMemsetD8_v2(address_, byte, bytes_), "cuMemsetD8_v2");
}

Stream::Stream(const Driver& driver) : driver_(driver) {
  driver.check(driver->cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

Stream::~Stream() {
  if (stream_ != nullptr) driver_->cuStreamDestroy_v2(stream_);
}

void Stream::synchronize() const {
  driver_.check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

}  // namespace qrow
