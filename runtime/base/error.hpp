// Status codes and the one exception type of the library.
//
// Inside qrow a failure is thrown as qrow::Error; only runtime/c_api.cpp catches. "Unsupported" is
// a value (qrow::Support), not an exception, until it has to leave through the C API.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace qrow {

// Persisted: the values equal qrow_status and are never renumbered (asserted in runtime/c_api.cpp).
enum class Status : int {
  ok = 0,
  invalid_argument = 1,
  unsupported = 2,
  not_cached = 3,
  compile_failed = 4,
  no_compiler = 5,
  no_device = 6,
  driver = 7,
  workspace_too_small = 8,
  deadline = 9,
  cancelled = 10,
  cache = 11,
  out_of_memory = 12,
  internal = 13,
};

// "INVALID_ARGUMENT"; "UNKNOWN" for other values. Static storage.
const char* status_name(Status status);

class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

// Throws Error. The message says what was asked, what was found and what to do.
template <typename... Args>
[[noreturn]] void fail(Status status, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(status, fmt::format(text, std::forward<Args>(args)...));
}

// An answer to "can you do this?": `reason` says why not, empty when able.
struct Support {
  bool able = true;
  std::string reason;

  static Support yes() { return {}; }
  template <typename... Args>
  static Support no(fmt::format_string<Args...> text, Args&&... args) {
    return {false, fmt::format(text, std::forward<Args>(args)...)};
  }
  explicit operator bool() const { return able; }
};

}  // namespace qrow
