#include "runtime/emulator/launch.hpp"

#include "runtime/base/error.hpp"
#include "runtime/emulator/block.hpp"

namespace qrow::emulator {

Report Grid::run(const Launch& launch) {
  if (launch.threads == 0 || launch.threads % 32 != 0 || launch.threads > 1024) {
    fail(Status::invalid_argument,
         "a block of {} threads was asked for: the emulator runs whole warps, 32 to 1024 threads",
         launch.threads);
  }
  Report report;
  Thread* running = nullptr;
  launch.entry->bind(&running);
  Block block(memory_, launch, ++number_, &running, &report);
  Index index;
  for (index.z = 0; index.z < launch.grid.z; ++index.z) {
    for (index.y = 0; index.y < launch.grid.y; ++index.y) {
      for (index.x = 0; index.x < launch.grid.x; ++index.x) {
        block.run(index);
        ++report.blocks;
      }
    }
  }
  return report;
}

}  // namespace qrow::emulator
