#include "runtime/base/error.hpp"

namespace qrow {

const char* status_name(Status status) {
  switch (status) {
    case Status::ok:
      return "OK";
    case Status::invalid_argument:
      return "INVALID_ARGUMENT";
    case Status::unsupported:
      return "UNSUPPORTED";
    case Status::not_cached:
      return "NOT_CACHED";
    case Status::compile_failed:
      return "COMPILE_FAILED";
    case Status::no_compiler:
      return "NO_COMPILER";
    case Status::no_device:
      return "NO_DEVICE";
    case Status::driver:
      return "DRIVER";
    case Status::workspace_too_small:
      return "WORKSPACE_TOO_SMALL";
    case Status::deadline:
      return "DEADLINE";
    case Status::cancelled:
      return "CANCELLED";
    case Status::cache:
      return "CACHE";
    case Status::out_of_memory:
      return "OUT_OF_MEMORY";
    case Status::internal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

}  // namespace qrow
