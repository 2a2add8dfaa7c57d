#include "runtime/emulator/launch.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/emulator/block.hpp"

namespace qrow::emulator {

Grid::Grid(Memory& memory) : memory_(memory), storage_(std::make_unique<BlockStorage>()) {}

Grid::~Grid() = default;

Report Grid::run(const Launch& launch) {
  if (launch.threads == 0 || launch.threads % 32 != 0 || launch.threads > 1024) {
    fail(Status::invalid_argument,
         "a block of {} threads was asked for: the emulator runs whole warps, 32 to 1024 threads",
         launch.threads);
  }
  if (launch.smem_bytes > SharedMemory::kMaxDynamicBytes) {
    fail(Status::invalid_argument,
         "{} bytes of shared memory were asked for: no GPU gives a block more than {}",
         launch.smem_bytes, SharedMemory::kMaxDynamicBytes);
  }
  Report report;
  report.schedule =
      fmt::format("emulated with seed {}, copies landing {}", launch.seed,
                  launch.landing == Landing::late ? "as late as they may" : "at random");
  Thread* running = nullptr;
  launch.entry->bind(&running);
  Block block(*storage_, memory_, launch, ++number_, &running, &report);
  Index index;
  for (index.z = 0; index.z < launch.grid.z; ++index.z) {
    for (index.y = 0; index.y < launch.grid.y; ++index.y) {
      for (index.x = 0; index.x < launch.grid.x; ++index.x) {
        ++report.blocks;
        if (!block.run(index)) return report;
      }
    }
  }
  return report;
}

}  // namespace qrow::emulator
