#include "runtime/driver/module.hpp"

namespace qrow {
namespace {

// The driver's word about the bytes, as against trouble of its own: another row of the cache, or a
// new compilation, may do better. Which code a damaged image gives differs between drivers,
// INVALID_VALUE among them.
bool refuses_image(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::unique_ptr<const Module> Module::load(const Driver& driver, std::span<const std::byte> cubin,
                                           const std::string& kernel, int smem_bytes,
                                           std::string* refusal) {
  std::unique_ptr<Module> module(new Module(driver));
  driver.check(driver->cuCtxGetCurrent(&module->context_), "cuCtxGetCurrent");
  const auto refused = [&](CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return false;
    if (!refuses_image(result)) driver.raise(result, call);
    *refusal = std::string(call) + " gave " + driver.describe(result);
    return true;
  };
  if (refused(driver->cuLibraryLoadData(&module->library_, cubin.data(), nullptr, nullptr, 0,
                                        nullptr, nullptr, 0),
              "cuLibraryLoadData")) {
    return nullptr;
  }
  CUkernel handle = nullptr;
  const CUresult found = driver->cuLibraryGetKernel(&handle, module->library_, kernel.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    *refusal = "the cubin has no kernel " + kernel;
    return nullptr;
  }
  if (refused(found, "cuLibraryGetKernel")) return nullptr;
  if (refused(driver->cuKernelGetFunction(&module->function_, handle), "cuKernelGetFunction"))
    return nullptr;
  if (refused(driver->cuFuncSetAttribute(
                  module->function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes),
              "cuFuncSetAttribute")) {
    return nullptr;
  }
  return module;
}

Module::~Module() {
  // A driver that is shutting down unloads everything itself: the result is of no interest.
  if (library_ != nullptr) driver_->cuLibraryUnload(library_);
}

}  // namespace qrow
