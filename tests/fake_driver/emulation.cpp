#include "tests/fake_driver/emulation.hpp"

#include <cstdio>
#include <cstdlib>

namespace fake_cuda {

using namespace qrow::emulator;

Emulation* Emulation::get() {
  // Never destroyed: qrow may free memory while the process ends.
  static Emulation* const emulation = [] {
    const char* folder = std::getenv("QROW_FAKE_EMULATE");
    return folder != nullptr ? new Emulation(folder) : nullptr;
  }();
  return emulation;
}

const Object* Emulation::find(const std::string& kernel, std::string* why) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<const Object>& object = objects_[kernel];
  if (object == nullptr) object = Object::load(folder_ + '/' + kernel + ".so", kernel, why);
  return object.get();
}

void Emulation::allocated(void* memory, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  memory_.add(memory, bytes);
}

void Emulation::freed(void* memory) {
  std::lock_guard lock(mutex_);
  memory_.remove(memory);
}

void Emulation::set_schedule(unsigned long long seed, bool random_landing) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  landing_ = random_landing ? Landing::random : Landing::late;
}

Report Emulation::take_report() {
  std::lock_guard lock(mutex_);
  return std::exchange(report_, {});
}

CUresult Emulation::launch(const Object& object, const CUlaunchConfig& config, void** arguments) {
  std::lock_guard lock(mutex_);
  Launch launch;
  launch.entry = &object.entry();
  launch.params = arguments[0];
  launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  launch.threads = config.blockDimX;
  launch.smem_bytes = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    launch.overlaps_previous |=
        config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        config.attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  launch.landing = landing_;
  launch.seed = seed_;
  launch.code_begin = object.begin();
  launch.code_end = object.end();
  const Report report = grid_.run(launch);
  report_.merge(report);
  if (report.clean()) return CUDA_SUCCESS;
  std::fprintf(stderr, "%s: the emulator found faults:\n%s", object.entry().name,
               report.text().c_str());
  return CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace fake_cuda
