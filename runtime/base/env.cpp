#include "runtime/base/env.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr EnvVariable kVariables[] = {
#define QROW_ENV(name, default_text, meaning) {#name, default_text, meaning},
#include "runtime/base/env.def"
#undef QROW_ENV
};

// In the order of LogLevel.
constexpr const char* kLogLevels[] = {"error", "warning", "info", "debug"};

std::string jit_complaint(const std::string& value) {
  if (value == "on" || value == "cache_only") return {};
  return fmt::format("QROW_JIT is '{}': the values are on and cache_only", value);
}

std::string log_complaint(const std::string& value) {
  if (std::find(std::begin(kLogLevels), std::end(kLogLevels), value) != std::end(kLogLevels))
    return {};
  return fmt::format("QROW_LOG is '{}': the values are error, warning, info and debug", value);
}

// A folder that is not there yet is made when it is needed.
std::string dump_complaint(const std::string& value) {
  struct stat info {};
  const bool there = ::stat(value.c_str(), &info) == 0;
  const bool wrong = there ? !S_ISDIR(info.st_mode) : errno == ENOTDIR;
  if (value == "off" || !wrong) return {};
  return fmt::format("QROW_DUMP is '{}', which is no folder: give a folder or off", value);
}

constexpr struct {
  const char* name;
  std::string (*complain)(const std::string& value);
} kChecks[] = {
    {"QROW_JIT", jit_complaint}, {"QROW_LOG", log_complaint}, {"QROW_DUMP", dump_complaint}};

// The value of a variable that has a check.
std::optional<std::string> checked(const char* name) {
  if (const std::string complaint = env_complaint(name); !complaint.empty())
    fail(Status::invalid_argument, "{}", complaint);
  return env(name);
}

}  // namespace

std::span<const EnvVariable> env_variables() { return kVariables; }

std::optional<std::string> env(const char* name) {
  for (const EnvVariable& variable : kVariables) {
    if (std::strcmp(variable.name, name) == 0) return foreign_env(name);
  }
  fail(Status::internal, "the variable {} has no row in runtime/base/env.def", name);
}

std::string env_complaint(const char* name) {
  const std::optional<std::string> value = env(name);
  if (!value) return {};
  for (const auto& check : kChecks) {
    if (std::strcmp(check.name, name) == 0) return check.complain(*value);
  }
  return {};
}

void check_environment() {
  for (const auto& check : kChecks) checked(check.name);
}

bool cache_only_by_environment() { return checked("QROW_JIT") == "cache_only"; }

LogLevel log_level_by_environment() {
  const std::string value = checked("QROW_LOG").value_or("warning");
  const auto* const place = std::find(std::begin(kLogLevels), std::end(kLogLevels), value);
  return static_cast<LogLevel>(place - std::begin(kLogLevels) + 1);
}

std::optional<std::string> dump_folder_by_environment() {
  std::optional<std::string> folder = checked("QROW_DUMP");
  if (folder == "off") folder.reset();
  return folder;
}

std::optional<std::string> foreign_env(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace qrow
