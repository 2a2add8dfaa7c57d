// Owners of device memory, streams and the primary context, for the command line, tests and
// benchmarks. The library's own calls allocate nothing on the device. Move-only; destructors ignore
// a driver that is shutting down.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "runtime/driver/driver.hpp"

namespace qrow {

// Makes a device's primary context current on this thread while it lives, as the CUDA runtime and
// PyTorch do.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext previous_ = nullptr;
};

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Driver& driver, std::size_t bytes);  // uninitialised; 0 bytes: null
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::size_t size() const { return bytes_; }
  CUdeviceptr address() const { return address_; }
  template <typename T = void>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }
  // Synchronous copies. REQUIRES: offset + size within the buffer.
  void write(const void* from, std::size_t bytes, std::size_t offset = 0);
  void read(void* to, std::size_t bytes, std::size_t offset = 0) const;
  void fill(unsigned char byte);

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  explicit Stream(const Driver& driver);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

}  // namespace qrow
