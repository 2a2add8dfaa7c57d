#include "runtime/base/dynlib.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace qrow {

DynLib::~DynLib() {
  if (handle_ != nullptr) dlclose(handle_);
}

DynLib::DynLib(DynLib&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

DynLib& DynLib::operator=(DynLib&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

DynLib DynLib::open(const std::string& path, std::string* error) {
  // RTLD_LOCAL: the symbols of a second NVRTC or libcuda in the process must not meet ours.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && error != nullptr) {
    const char* text = dlerror();
    *error = text != nullptr ? text : "unknown reason";
  }
  return DynLib(handle);
}

void* DynLib::symbol(const char* name) const {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

std::string DynLib::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr ||
      map->l_name == nullptr || *map->l_name == '\0') {
    return "";
  }
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(map->l_name, error);
  return error ? std::string(map->l_name) : absolute.lexically_normal().string();
}

}  // namespace qrow
