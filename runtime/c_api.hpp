// What the files of the C API share: the boundary that no exception crosses, and structs of older
// and newer callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/context.hpp"
#include "runtime/include/qrow/qrow.h"
#include "runtime/plan.hpp"

struct qrow_context {
  explicit qrow_context(const qrow::ContextOptions& options) : context(options) {}
  qrow::Context context;
};

struct qrow_plan {
  std::unique_ptr<const qrow::Plan> plan;
};

namespace qrow {

// Called in a catch block: stores the text of the exception as this thread's last error and returns
// its status.
qrow_status status_of_current_exception() noexcept;

template <typename Body>
qrow_status guarded(Body&& body) noexcept {
  try {
    body();
    return QROW_STATUS_OK;
  } catch (...) {
    return status_of_current_exception();
  }
}

template <typename T>
T& require_pointer(T* pointer, const char* name) {
  if (pointer == nullptr) fail(Status::invalid_argument, "{} is null: it is required", name);
  return *pointer;
}

// No struct of this header will ever be larger: a struct_size above it was never set, and reading
// that far would leave the caller's memory.
inline constexpr std::size_t kMaxStructBytes = 4096;

// Checks the struct_size of a caller's struct against ours of `size` bytes: neither 0 nor absurd,
// and from a newer caller nothing may be set that this library does not know.
void check_struct(const void* given, std::size_t size, const char* name);

// The caller's struct if it is of this very version, else a copy in `storage`, fields that the
// caller lacks being zero.
template <typename T>
const T& whole(const T* given, const char* name, T& storage) {
  if (given != nullptr && given->struct_size == sizeof(T)) return *given;
  check_struct(given, sizeof(T), name);
  storage = T{};
  std::memcpy(&storage, given, given->struct_size < sizeof(T) ? given->struct_size : sizeof(T));
  storage.struct_size = sizeof(T);
  return storage;
}

// A struct that receives results: what lies beyond the fields we know is not looked at.
template <typename T>
void check_result(const T* to, const char* name) {
  check_struct(to, kMaxStructBytes, name);
}

// Writes as much of `value` as the caller's struct holds.
template <typename T>
void hand_out(T* to, const char* name, T value) {
  check_result(to, name);
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, to->struct_size < sizeof(T) ? to->struct_size : sizeof(T));
}

// Refuses a negative value of the option or field `name`.
void at_least_zero(const char* name, long long value);
std::string text_or_empty(const char* text);
std::vector<std::string> texts(const char* const* list, int count, const char* name);

// The callback, else standard error; the level given, else QROW_LOG, else warnings.
Log log_of(int level, qrow_log_callback callback, void* user);

// Copies `text` as far as it fits, always terminated.
void copy_text(const std::string& text, char* to, std::size_t bytes);

}  // namespace qrow
