// The environment variables of env.def, and the only place that reads the environment.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/base/log.hpp"

namespace qrow {

struct EnvVariable {
  const char* name;
  const char* default_text;
  const char* meaning;
};

std::span<const EnvVariable> env_variables();

// The value of a variable named in env.def (REQUIRES), or nothing if unset or empty.
std::optional<std::string> env(const char* name);
// A mistyped value must not pass for the default: what is wrong with the value of a variable named
// in env.def, "" if nothing is; and Error(invalid_argument) for the first one that is wrong.
std::string env_complaint(const char* name);
void check_environment();

// QROW_JIT forbids compiling. Throws, as the others, Error(invalid_argument) for a wrong value.
bool cache_only_by_environment();
LogLevel log_level_by_environment();                      // QROW_LOG
std::optional<std::string> dump_folder_by_environment();  // QROW_DUMP

// For variables that are not ours (HOME, XDG_CACHE_HOME).
std::optional<std::string> foreign_env(const char* name);

}  // namespace qrow
