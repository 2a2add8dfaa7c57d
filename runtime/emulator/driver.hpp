// A CUDA driver whose one GPU is this CPU: memory is host memory, streams run at once, kernels are
// emulated objects. As many of libcuda's functions as a call and the workbench need.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "runtime/driver/driver.hpp"
#include "runtime/emulator/launch.hpp"
#include "runtime/emulator/object.hpp"

namespace qrow::emulator {

// What the GPU says of itself.
struct DeviceModel {
  int driver_version = 13000;
  int num_devices = 1;
  int major = 9;
  int minor = 0;
  int num_sms = 132;
};

// What stands in a cache for the cubin of an emulated kernel; the kernel itself is found by name.
inline constexpr char kImage[] = "\177ELF of a kernel for the CPU";

// One per process. Any thread may use it; launches run one at a time.
class EmulatedDriver {
 public:
  static EmulatedDriver& get();

  // Functions that it does not have are null.
  static DriverFunctions functions();

  void set_model(const DeviceModel& model);
  const DeviceModel& model() const { return model_; }
  // Where kernels are found: among those of the program, else as objects in a folder, as
  // builder.hpp makes them ("": none). `built_in` must outlive the process's launches.
  void set_built_in(std::span<const Entry* const> built_in);
  bool has_built_in(const std::string& kernel) const;
  void set_objects(const std::string& folder);
  // How launches are run from now on: the order of threads (0: in turn), and when copies land.
  void set_schedule(std::uint64_t seed, Landing landing);
  // Sum of all launches since the last take.
  Report take_report();

  // Behind the functions:
  const Object* find(const std::string& kernel, std::string* why);
  void* allocate(std::size_t bytes);
  void free(void* memory);
  // Runs the grid to its end. A fault is written to stderr and makes the launch fail.
  CUresult launch(const Object& object, const CUlaunchConfig& config, void** arguments);

 private:
  EmulatedDriver() : grid_(memory_) {}

  std::mutex mutex_;
  DeviceModel model_;
  std::span<const Entry* const> built_in_;
  std::string folder_;
  Memory memory_;
  Grid grid_;
  std::map<std::string, std::unique_ptr<const Object>> objects_;
  std::uint64_t seed_ = 0;
  Landing landing_ = Landing::late;
  Report report_;
};

}  // namespace qrow::emulator
