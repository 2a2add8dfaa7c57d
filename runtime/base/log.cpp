#include "runtime/base/log.hpp"

#include <cstdio>

namespace qrow {
namespace {

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "log";
}

}  // namespace

Log Log::to_stderr(LogLevel level) {
  // One fprintf per line: stdio locks the stream for a call, so lines of several threads do not
  // mix.
  return Log(level, [](LogLevel of_line, const char* text) {
    std::fprintf(stderr, "qrow: %s: %s\n", level_name(of_line), text);
  });
}

}  // namespace qrow
