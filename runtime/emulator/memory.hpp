// Device memory of the emulated GPU: which host addresses a kernel may touch, and which blocks of
// which launch wrote and read them last.
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

  // The last launch that used a word in one way.
  struct Use {
    std::uint32_t launch;      // 0: none yet
    std::uint32_t block : 31;  // kManyBlocks: more than one
    std::uint32_t atomic : 1;  // all by atomic operations

    bool by_another(std::uint32_t of_launch, std::uint32_t than_block) const {
      return launch == of_launch && block != than_block;
    }
  };
  static constexpr std::uint32_t kManyBlocks = 0x7fffffff;
  struct Word {
    Use write, read;
  };
  // The words of an access; null where it is not inside one allocation.
  struct Words {
    Word* first = nullptr;
    std::size_t count = 0;
  };
  Words words(const void* address, std::size_t bytes);

 private:
  struct Allocation {
    std::uintptr_t begin = 0, end = 0;
    Word* words = nullptr;  // one per 4 bytes; pages that nobody touched cost nothing
    std::size_t mapped_bytes = 0;
  };
  static void unmap(const Allocation& allocation);

  std::map<std::uintptr_t, Allocation> allocations_;  // by begin
  const Allocation* last_ = nullptr;                  // most accesses go where the last one went
};

}  // namespace qrow::emulator
