// One cubin in the driver with its one kernel, ready to launch. Immutable; any thread may launch
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/driver/driver.hpp"

namespace qrow {

class Module {
 public:
  // Loads `cubin`, finds `kernel` and brings both into the current CUDA context now: the lazy load
  // of a first launch would take the context's lock, and is illegal under stream capture. Allows
  // `smem_bytes` of dynamic shared memory. Null if the driver refuses the bytes, `*refusal` says
  // how; other trouble throws Error(driver). REQUIRES: a current CUDA context.
  static std::unique_ptr<const Module> load(const Driver& driver, std::span<const std::byte> cubin,
                                            const std::string& kernel, int smem_bytes,
                                            std::string* refusal);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  CUfunction function() const { return function_; }
  CUcontext context() const { return context_; }  // in which function() is valid

 private:
  explicit Module(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  CUlibrary library_ = nullptr;
  CUfunction function_ = nullptr;
  CUcontext context_ = nullptr;
};

}  // namespace qrow
