#include "runtime/driver/driver.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

#include "runtime/base/dynlib.hpp"
#include "runtime/base/env.hpp"
#include "runtime/base/error.hpp"

namespace qrow {
namespace {

// Stands in for a function that the loaded driver lacks.
template <typename Function>
struct Missing;
template <typename... Args>
struct Missing<CUresult (*)(Args...)> {
  static CUresult CUDAAPI call(Args...) { return CUDA_ERROR_NOT_FOUND; }
};

struct FunctionRow {
  const char* name;
  int since;  // driver version
};
constexpr FunctionRow kRows[] = {
#define QROW_DRIVER_FUNCTION(name, version) {#name, version},
#include "runtime/driver/driver_functions.def"
#undef QROW_DRIVER_FUNCTION
};

int introduced_in(const char* name) {
  for (const FunctionRow& row : kRows) {
    if (std::strcmp(row.name, name) == 0) return row.since;
  }
  return 0;
}

template <typename Function>
void stub_if_missing(Function& slot) {
  if (slot == nullptr) slot = &Missing<Function>::call;
}

template <typename Function>
void resolve(const DynLib& library, const char* name, Function& slot) {
  slot = reinterpret_cast<Function>(library.symbol(name));
  stub_if_missing(slot);
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

const Driver& Driver::get() {
  std::string why;
  const Driver* driver = try_get(&why);
  if (driver == nullptr) throw Error(Status::no_device, why);
  return *driver;
}

namespace {
std::mutex mutex;  // of a first load
std::atomic<const Driver*> loaded{nullptr};
}  // namespace

void Driver::install(const DriverFunctions& functions, const std::string& name) {
  static Driver driver;
  std::lock_guard lock(mutex);
  driver.functions_ = functions;
#define QROW_DRIVER_FUNCTION(name, version) stub_if_missing(driver.functions_.name);
#include "runtime/driver/driver_functions.def"
#undef QROW_DRIVER_FUNCTION
  driver.path_ = name;
  driver.check(functions.cuDriverGetVersion(&driver.version_), "cuDriverGetVersion");
  loaded.store(&driver, std::memory_order_release);
}

const Driver* Driver::try_get(std::string* why) {
  if (const Driver* driver = loaded.load(std::memory_order_acquire)) return driver;
  std::lock_guard lock(mutex);
  if (const Driver* driver = loaded.load(std::memory_order_relaxed)) return driver;
  std::string reason;
  const Driver* driver = load(&reason);
  if (driver == nullptr && why != nullptr) *why = reason;
  loaded.store(driver, std::memory_order_release);
  return driver;
}

const Driver* Driver::load(std::string* why) {
  const std::string asked = env("QROW_LIBCUDA").value_or("libcuda.so.1");
  std::string reason;
  DynLib library = DynLib::open(asked, &reason);
  if (!library) {
    *why = fmt::format(
        "the CUDA driver library '{}' could not be loaded ({}): install the NVIDIA driver, or name "
        "its libcuda.so in "
        "QROW_LIBCUDA. Without a GPU use QROW_DEVICE_NONE or `qrow prewarm`.",
        asked, reason);
    return nullptr;
  }
  static Driver driver;  // a failed try leaves nothing that the next one does not overwrite
  DriverFunctions& functions = driver.functions_;
#define QROW_DRIVER_FUNCTION(name, version) resolve(library, #name, functions.name);
#include "runtime/driver/driver_functions.def"
#undef QROW_DRIVER_FUNCTION
  driver.path_ = library.path();
  if (const CUresult result = functions.cuInit(0); result != CUDA_SUCCESS) {
    *why = fmt::format(
        "'{}' was loaded, but cuInit failed with {}: is there a GPU, and does its kernel driver "
        "run (nvidia-smi)?",
        driver.path_, driver.describe(result));
    return nullptr;
  }
  if (functions.cuDriverGetVersion(&driver.version_) != CUDA_SUCCESS) driver.version_ = 0;
  library.leak();
  return &driver;
}

void Driver::raise(CUresult result, const char* call) const {
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    fail(Status::out_of_memory, "{} failed: {}", call, describe(result));
  const int since = introduced_in(call);
  if (result == CUDA_ERROR_NOT_FOUND && since > version_) {
    fail(Status::driver,
         "{} is not in this CUDA driver: it came with {}, '{}' is {}. Update the NVIDIA driver.",
         call, version_text(since), path_, version_text(version_));
  }
  fail(Status::driver, "{} failed: {}", call, describe(result));
}

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  functions_.cuGetErrorName(result, &name);
  functions_.cuGetErrorString(result, &text);
  return fmt::format("{} ({})",
                     name != nullptr ? name : fmt::format("CUresult {}", static_cast<int>(result)),
                     text != nullptr ? text : "no text");
}

}  // namespace qrow
