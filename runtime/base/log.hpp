// Where messages go: a level and a sink. A Log is owned by a context (or a tool) and may be used
// from any thread. Nothing here is global; code that logs is handed a `const Log&`.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace qrow {

enum class LogLevel : int { error = 1, warning = 2, info = 3, debug = 4 };

class Log {
 public:
  using Sink = std::function<void(LogLevel, const char* text)>;  // must be thread-safe

  Log() = default;  // silent
  Log(LogLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}
  // Lines "qrow: warning: text" on standard error.
  static Log to_stderr(LogLevel level);

  bool enabled(LogLevel level) const { return sink_ && level <= level_; }
  template <typename... Args>
  void operator()(LogLevel level, fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(level)) sink_(level, fmt::format(text, std::forward<Args>(args)...).c_str());
  }

 private:
  LogLevel level_ = LogLevel::warning;
  Sink sink_;
};

}  // namespace qrow
