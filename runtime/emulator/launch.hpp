// One launch of a compiled kernel on the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/emulator/device/machine.hpp"
#include "runtime/emulator/fault.hpp"
#include "runtime/emulator/memory.hpp"

namespace qrow::emulator {

// When the bytes of an asynchronous copy arrive: as late as its wait allows, or at any time before.
enum class Landing { late, random };

struct Launch {
  const Entry* entry = nullptr;
  const void* params = nullptr;  // of entry->params_bytes
  Index grid{1, 1, 1};
  unsigned threads = 0;  // per block, a multiple of 32
  unsigned smem_bytes = 0;
  bool overlaps_previous = false;  // may start before the previous launch has ended
  Landing landing = Landing::late;
  std::uint64_t seed = 0;  // 0: threads run in order; else in an order drawn from it
  std::uintptr_t code_begin = 0, code_end = 0;  // of the kernel's object: constants may be read
};

struct BlockStorage;

// The launches of one emulated GPU, one after the other. Used by one thread at a time.
class Grid {
 public:
  explicit Grid(Memory& memory);
  ~Grid();

  // Runs all blocks, or until the first that cannot go on. Throws Error(invalid_argument) for what
  // no GPU would launch.
  Report run(const Launch& launch);

 private:
  Memory& memory_;
  std::uint32_t number_ = 0;  // of the last launch
  std::unique_ptr<BlockStorage> storage_;
};

}  // namespace qrow::emulator
