// Device memory of the emulated GPU: which host addresses a kernel may touch, and which block of
// which launch wrote them last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace qrow::emulator {

class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Host memory that plays device memory until it is removed. The bytes stay the caller's.
  void add(void* begin, std::size_t bytes);
  // Nothing where `begin` was never added.
  void remove(void* begin);

  // Who wrote a word last.
  struct Writer {
    std::uint32_t launch;  // 0: the host
    std::uint32_t block;
  };
  // The words of an access; null where it is not inside one allocation.
  struct Words {
    Writer* first = nullptr;
    std::size_t count = 0;
  };
  Words words(const void* address, std::size_t bytes);

 private:
  struct Allocation {
    std::uintptr_t begin = 0, end = 0;
    Writer* writers = nullptr;  // one per 4 bytes; pages that nobody touched cost nothing
    std::size_t mapped_bytes = 0;
  };
  static void unmap(const Allocation& allocation);

  std::map<std::uintptr_t, Allocation> allocations_;  // by begin
  const Allocation* last_ = nullptr;                  // most accesses go where the last one went
};

}  // namespace qrow::emulator
