#include "runtime/kernel_loader.hpp"

#include <chrono>
#include <utility>

#include "runtime/driver/device.hpp"
#include "templates/sources.hpp"

namespace qrow {

void KernelLoader::check_current_context() const {
  const int current = current_device(driver_);
  if (current != ordinal_) {
    fail(Status::invalid_argument,
         "the current CUDA context is of device {}, this qrow context is of device {}: make a CUDA "
         "context of device {} current "
         "(cudaSetDevice, cuCtxSetCurrent)",
         current, ordinal_, ordinal_);
  }
}

bool KernelLoader::is_capturing(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver_->cuStreamIsCapturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return true;  // the legacy stream, while another is captured
  driver_.check(result, "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool KernelLoader::capture_in_progress() const { return is_capturing(CU_STREAM_LEGACY); }

std::shared_ptr<const Module> KernelLoader::load(const Cubin& cubin, int smem_bytes) {
  const auto begin = std::chrono::steady_clock::now();
  std::string refusal;
  std::shared_ptr<const Module> module =
      Module::load(driver_, cubin.row.cubin, cubin.row.entry_name, smem_bytes, &refusal);
  const auto spent = std::chrono::steady_clock::now() - begin;
  load_microseconds_ += static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  if (module == nullptr) {
    provider_.log()(LogLevel::warning, "kernel {} does not load: {}", cubin.key.digest.hex(),
                    refusal);
  } else {
    cubin_bytes_loaded_ += cubin.row.cubin.size();
  }
  return module;
}

LoadedKernel KernelLoader::get(const Variant& variant, const std::string& case_line) {
  if (std::optional<LoadedKernel> known = find(variant)) {
    provider_.count_memory_hit();
    return *known;
  }
  LoadedKernel kernel;
  KernelProvider::Request request;
  request.variant = &variant;
  request.case_line = case_line;
  request.accept = [&](const Cubin& cubin) {
    kernel.module = load(cubin, variant.smem_bytes);
    return kernel.module != nullptr;
  };
  kernel.cubin = provider_.get(request);
  kernel.source = kernel.cubin->source;
  std::lock_guard lock(mutex_);
  // Where two threads loaded the same kernel, the first one's stays.
  return kernels_.try_emplace(kernel.cubin->key.digest, kernel).first->second;
}

std::optional<LoadedKernel> KernelLoader::find(const Variant& variant) {
  const Key key = make_key(variant, template_digest(variant.family));
  std::lock_guard lock(mutex_);
  const auto place = kernels_.find(key.digest);
  if (place == kernels_.end() || place->second.cubin->key.text != key.text) return std::nullopt;
  LoadedKernel kernel = place->second;
  kernel.source = Source::memory;
  return kernel;
}

}  // namespace qrow
