// The stand-in driver's kernels, run on the CPU: objects of a folder, by kernel name.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/emulator/launch.hpp"
#include "runtime/emulator/object.hpp"

namespace fake_cuda {

class Emulation {
 public:
  // The emulation of this process: QROW_FAKE_EMULATE names the folder. Null without it.
  static Emulation* get();

  // Is there an object for this kernel? Otherwise `*why`.
  const qrow::emulator::Object* find(const std::string& kernel, std::string* why);
  void allocated(void* memory, std::size_t bytes);
  void freed(void* memory);
  // Runs the grid to its end. A fault is written to stderr and fails the launch.
  CUresult launch(const qrow::emulator::Object& object, const CUlaunchConfig& config,
                  void** arguments);

  // How launches are run from now on (fake_cuda.hpp).
  void set_schedule(unsigned long long seed, bool random_landing);
  // Sum of all launches since the last take.
  qrow::emulator::Report take_report();

 private:
  explicit Emulation(std::string folder) : folder_(std::move(folder)), grid_(memory_) {}

  const std::string folder_;
  std::mutex mutex_;
  qrow::emulator::Memory memory_;
  qrow::emulator::Grid grid_;
  std::map<std::string, std::unique_ptr<const qrow::emulator::Object>> objects_;
  unsigned long long seed_ = 0;
  qrow::emulator::Landing landing_ = qrow::emulator::Landing::late;
  qrow::emulator::Report report_;
};

}  // namespace fake_cuda
