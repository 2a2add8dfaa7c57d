// A kernel compiled for the CPU: a shared object, or code that is part of the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/dynlib.hpp"
#include "runtime/emulator/device/machine.hpp"

namespace qrow::emulator {

class Object {
 public:
  // The object file `path` with kernel `name` (jit/entry.hpp). Null, and `*why`, where it cannot be
  // loaded or holds no such kernel.
  static std::unique_ptr<const Object> load(const std::string& path, const std::string& name,
                                            std::string* why);

  // A kernel that is part of the program.
  explicit Object(const Entry* entry);

  const Entry& entry() const { return *entry_; }
  // Addresses of its code and constants.
  std::uintptr_t begin() const { return begin_; }
  std::uintptr_t end() const { return end_; }

 private:
  DynLib library_;
  const Entry* entry_;
  std::uintptr_t begin_ = 0, end_ = 0;
};

// Where the segments of the loaded file that holds this address begin and end.
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
};
CodeRange code_range_of(const void* address);

}  // namespace qrow::emulator
