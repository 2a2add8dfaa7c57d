#include "runtime/base/env.hpp"

#include <cstdlib>
#include <cstring>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr EnvVariable kVariables[] = {
#define QROW_ENV(name, default_text, meaning) {#name, default_text, meaning},
#include "runtime/base/env.def"
#undef QROW_ENV
};

}  // namespace

std::span<const EnvVariable> env_variables() { return kVariables; }

std::optional<std::string> env(const char* name) {
  for (const EnvVariable& variable : kVariables) {
    if (std::strcmp(variable.name, name) == 0) return foreign_env(name);
  }
  fail(Status::internal, "the variable {} has no row in runtime/base/env.def", name);
}

std::optional<std::string> foreign_env(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace qrow
