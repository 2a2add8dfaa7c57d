// What a command says. Results go to standard output, everything else to standard error; with
// --json standard output holds one JSON object per line and nothing else. On a terminal long work
// has a progress line that is redrawn in place; elsewhere there are plain lines. Any thread may use
// an Output.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/tools/json_writer.hpp"

namespace qrow {

class Output {
 public:
  struct Options {
    bool json = false;
    bool quiet = false;
  };
  // `out` and `err` stay the caller's.
  Output(std::FILE* out, std::FILE* err, const Options& options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }
  std::FILE* out() const { return out_; }
  std::FILE* err() const { return err_; }

  // A result, for people: what the command was asked for. Not with --json.
  template <typename... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    if (!options_.json) write(out_, fmt::format(text, std::forward<Args>(args)...));
  }
  // One of many lines on the way to a result: also left out with --quiet.
  template <typename... Args>
  void detail(fmt::format_string<Args...> text, Args&&... args) {
    if (!options_.json && !options_.quiet)
      write(out_, fmt::format(text, std::forward<Args>(args)...));
  }
  // A result, for programs: only with --json.
  void record(const JsonObject& object) {
    if (options_.json) write(out_, object.text());
  }
  // "qrow: text" on standard error; note() is left out with --quiet.
  template <typename... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    if (!options_.quiet) write(err_, "qrow: " + fmt::format(text, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) {
    write(err_, "qrow: " + fmt::format(text, std::forward<Args>(args)...));
  }
  // For library parts that log: lines on standard error that respect the progress line. The level
  // is QROW_LOG's.
  Log log();

  // Shows "done/count, rate, time left, item" in place on a terminal; nothing elsewhere or with
  // --quiet. REQUIRES: the first call of a piece of work has done == 0.
  void progress(int done, int count, std::string_view item);
  void end_progress();

 private:
  void write(std::FILE* to, std::string_view text);
  void erase_progress();

  std::FILE* out_;
  std::FILE* err_;
  Options options_;
  bool terminal_;
  std::mutex mutex_;
  std::string progress_;  // as shown; "" if none
  std::chrono::steady_clock::time_point started_{}, drawn_{};
};

// "12 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);
// "48.2 KB" (1 KB = 1000 bytes).
std::string format_bytes(long long bytes);

}  // namespace qrow
