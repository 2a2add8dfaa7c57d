// The environment variables of env.def, and the only place that reads the environment.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace qrow {

struct EnvVariable {
  const char* name;
  const char* default_text;
  const char* meaning;
};

std::span<const EnvVariable> env_variables();

// The value of a variable named in env.def (REQUIRES), or nothing if unset or empty.
std::optional<std::string> env(const char* name);
// For variables that are not ours (HOME, XDG_CACHE_HOME).
std::optional<std::string> foreign_env(const char* name);

}  // namespace qrow
