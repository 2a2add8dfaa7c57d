// Makes a context on device 0 and calls once, with kernels from the cache of QROW_CACHE alone;
// prints the status and text of the first failure. Run by driver_test.cpp with different drivers.
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/driver/memory.hpp"
#include "runtime/include/qrow/qrow.h"

namespace {

int tell(const char* what, qrow_status status) {
  std::printf("%s: %s: %s\n", what, qrow_status_name(status), qrow_last_error());
  return 0;
}

}  // namespace

int main() {
  qrow_context_options options;
  qrow_context_options_init(&options);
  options.device = 0;
  options.jit_mode = QROW_JIT_CACHE_ONLY;
  qrow_context* context = nullptr;
  if (const qrow_status status = qrow_context_create(&options, &context); status != QROW_STATUS_OK)
    return tell("context", status);
  const qrow::PrimaryContext primary(qrow::Driver::get(), 0);
  qrow_spec spec{};
  spec.struct_size = sizeof(spec);
  qrow_status status = qrow_spec_parse("heads=64/8 rows=4 page=64 kv=e4m3", &spec, nullptr);
  qrow_plan* plan = nullptr;
  qrow_workload workload{};
  workload.struct_size = sizeof(workload);
  if (status == QROW_STATUS_OK) status = qrow_plan_create(context, &spec, &workload, &plan);
  tell("plan", status);
  qrow_plan_destroy(plan);
  qrow_context_destroy(context);
  return 0;
}
