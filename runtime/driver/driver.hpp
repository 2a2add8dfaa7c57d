// libcuda, found and loaded at run time. One instance serves the process and is never unloaded (the
// driver's threads may outlive us). Any thread may use it. A function that the loaded driver lacks
// is a stub that fails, never a null call: check() then tells which driver version brings it.
#pragma once

#include <string>

#include "runtime/driver/cuda.hpp"

namespace qrow {

struct DriverFunctions {
#define QROW_DRIVER_FUNCTION(name, version) decltype(&::name) name = nullptr;
#include "runtime/driver/driver_functions.def"
#undef QROW_DRIVER_FUNCTION
};

class Driver {
 public:
  // Loads and initialises on the first call. QROW_LIBCUDA names the library, else libcuda.so.1 by
  // the loader's search. Throws Error(no_device): no library (what was looked for), or no GPU. A
  // failure is not remembered.
  static const Driver& get();
  // The same without throwing: null, and `*why` (may be null) says what is missing.
  static const Driver* try_get(std::string* why);

  // A driver that is part of the program, in place of libcuda; functions that it lacks are null.
  // REQUIRES: get() has not succeeded yet.
  static void install(const DriverFunctions& functions, const std::string& name);

  const DriverFunctions& functions() const { return functions_; }
  const DriverFunctions* operator->() const { return &functions_; }
  int version() const { return version_; }  // 13000 for 13.0
  const std::string& path() const { return path_; }

  // Throws Error(driver), or Error(out_of_memory), unless `result` is success: call, code name,
  // driver's text. `call` is a name of driver_functions.def.
  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) raise(result, call);
  }
  [[noreturn]] void raise(CUresult result, const char* call) const;
  // "CUDA_ERROR_INVALID_IMAGE (device kernel image is invalid)"
  std::string describe(CUresult result) const;

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

 private:
  Driver() = default;
  static const Driver* load(std::string* why);

  DriverFunctions functions_;
  std::string path_;
  int version_ = 0;
};

}  // namespace qrow
