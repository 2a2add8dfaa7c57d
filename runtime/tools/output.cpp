#include "runtime/tools/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/env.hpp"

namespace qrow {
namespace {

std::size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Output::Output(std::FILE* out, std::FILE* err, const Options& options)
    : out_(out), err_(err), options_(options), terminal_(isatty(fileno(err)) == 1) {}

Output::~Output() { end_progress(); }

void Output::write(std::FILE* to, std::string_view text) {
  std::lock_guard lock(mutex_);
  erase_progress();
  std::fwrite(text.data(), 1, text.size(), to);
  std::fputc('\n', to);
  std::fflush(to);  // a reader of a pipe sees each item when it is done
}

void Output::erase_progress() {
  if (progress_.empty()) return;
  std::fputs("\r\033[K", err_);
  std::fflush(err_);
  progress_.clear();
  drawn_ = {};
}

Log Output::log() {
  return Log(log_level_by_environment(), [this](LogLevel level, const char* text) {
    constexpr const char* names[] = {"", "error: ", "warning: ", "", ""};
    error("{}{}", names[static_cast<int>(level)], text);
  });
}

void Output::progress(int done, int count, std::string_view item) {
  if (!terminal_ || options_.quiet) return;
  using std::chrono::steady_clock;
  std::lock_guard lock(mutex_);
  auto now = steady_clock::now();
  if (done == 0) started_ = now;
  if (done != 0 && done != count && now - drawn_ < std::chrono::milliseconds(100)) return;
  double seconds = std::chrono::duration<double>(now - started_).count();
  std::string text = fmt::format("{}/{}", done, count);
  if (done > 0 && seconds > 0)
    text += fmt::format("  {:.1f}/s  {} left", done / seconds,
                        format_duration(seconds / done * (count - done)));
  text += fmt::format("  {}", item);
  text.resize(std::min(text.size(), terminal_columns(err_) - 1));
  std::fprintf(err_, "\r\033[K%s", text.c_str());
  std::fflush(err_);
  progress_ = std::move(text);
  drawn_ = now;
}

void Output::end_progress() {
  std::lock_guard lock(mutex_);
  erase_progress();
}

std::string format_duration(double seconds) {
  long long whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60)
    return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(long long bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr const char* units[] = {"KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace qrow
