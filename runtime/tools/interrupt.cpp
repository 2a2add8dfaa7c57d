#include "runtime/tools/interrupt.hpp"

#include <signal.h>

namespace qrow {
namespace {

// Process-wide like the signals themselves. Lock-free, so that a handler may write it.
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void on_signal(int) { g_interrupted.store(true); }

bool install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(
      SA_RESETHAND | SA_RESTART);  // the second signal finds the default: the process ends
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return true;
}

}  // namespace

const std::atomic<bool>& interrupted() {
  static const bool installed = install_handlers();
  (void)installed;
  return g_interrupted;
}

}  // namespace qrow
