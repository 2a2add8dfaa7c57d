// A shared library loaded at run time. Move-only; unloads on destruction unless `leak()` was called
// (libcuda and NVRTC stay loaded until the process ends: their worker threads may outlive us).
#pragma once

#include <span>
#include <string>

namespace qrow {

class DynLib {
 public:
  DynLib() = default;
  ~DynLib();
  DynLib(DynLib&& other) noexcept;
  DynLib& operator=(DynLib&& other) noexcept;

  // Nothing if it cannot be loaded; then `*error` (may be null) says why.
  static DynLib open(const std::string& path, std::string* error);

  explicit operator bool() const { return handle_ != nullptr; }
  // Null if there is no such symbol.
  void* symbol(const char* name) const;
  // Absolute path of the file that was loaded, "" if unknown.
  std::string path() const;
  void leak() { handle_ = nullptr; }

 private:
  explicit DynLib(void* handle) : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace qrow
