#include <algorithm>
#include <new>

#include "runtime/base/env.hpp"
#include "runtime/c_api.hpp"

namespace qrow {
namespace {

// Text that needs no memory, for when there is none.
constexpr const char* kOutOfMemory = "out of memory on the host";

struct LastError {
  std::string text;
  const char* fixed = nullptr;  // instead of text
};
thread_local LastError last_error;

void remember(const char* text) noexcept {
  try {
    last_error.text = text;
    last_error.fixed = nullptr;
  } catch (...) {
    last_error.fixed = kOutOfMemory;
  }
}

LogLevel log_level_of(int level) {
  if (level != 0) {
    if (level < QROW_LOG_ERROR || level > QROW_LOG_DEBUG)
      fail(Status::invalid_argument, "log_level is {}: the values are 0 to 4 (qrow.h)", level);
    return static_cast<LogLevel>(level);
  }
  return log_level_by_environment();
}

}  // namespace

qrow_status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    remember(error.what());
    return static_cast<qrow_status>(error.status());
  } catch (const std::bad_alloc&) {
    last_error.fixed = kOutOfMemory;
    return QROW_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    remember(error.what());
    return QROW_STATUS_INTERNAL;
  } catch (...) {
    remember("an exception of unknown type");
    return QROW_STATUS_INTERNAL;
  }
}

void check_struct(const void* given, std::size_t size, const char* name) {
  if (given == nullptr) fail(Status::invalid_argument, "{} is null: it is required", name);
  std::uint32_t struct_size = 0;
  std::memcpy(&struct_size, given, sizeof(struct_size));
  if (struct_size < sizeof(struct_size)) {
    fail(Status::invalid_argument, "{}->struct_size is {}: set it to sizeof(*{})", name,
         struct_size, name);
  }
  if (struct_size > kMaxStructBytes) {
    fail(Status::invalid_argument,
         "{}->struct_size is {}, more than any version's struct ({} bytes at most): set it to "
         "sizeof(*{})",
         name, struct_size, kMaxStructBytes, name);
  }
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = size; i < struct_size; ++i) {
    if (bytes[i] == 0) continue;
    fail(Status::invalid_argument,
         "{}->struct_size is {}, this library ({}.{}.{}) knows {} bytes of it, and a field beyond "
         "them is set: use a newer libqrow "
         "or leave the field 0",
         name, struct_size, QROW_VERSION_MAJOR, QROW_VERSION_MINOR, QROW_VERSION_PATCH, size);
  }
}

void at_least_zero(const char* name, long long value) {
  if (value < 0) fail(Status::invalid_argument, "{} is {}: it must be at least 0", name, value);
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

std::vector<std::string> texts(const char* const* list, int count, const char* name) {
  if (count < 0) fail(Status::invalid_argument, "num_{} is {}: it must be at least 0", name, count);
  if (count > 0 && list == nullptr)
    fail(Status::invalid_argument, "{} is null, but num_{} is {}", name, name, count);
  std::vector<std::string> copies;
  for (int i = 0; i < count; ++i) {
    if (list[i] == nullptr) fail(Status::invalid_argument, "{}[{}] is null", name, i);
    copies.emplace_back(list[i]);
  }
  return copies;
}

Log log_of(int level, qrow_log_callback callback, void* user) {
  const LogLevel known = log_level_of(level);
  if (callback == nullptr) return Log::to_stderr(known);
  return Log(known, [callback, user](LogLevel of, const char* text) {
    callback(user, static_cast<qrow_log_level>(of), text);
  });
}

void copy_text(const std::string& text, char* to, std::size_t bytes) {
  if (to == nullptr || bytes == 0) return;
  const std::size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace qrow

extern "C" const char* qrow_last_error(void) {
  return qrow::last_error.fixed != nullptr ? qrow::last_error.fixed : qrow::last_error.text.c_str();
}
