// A stack of its own on which a function runs, and can be left and entered again. Used by one
// operating-system thread.
#pragma once

#include <cstddef>
#include <functional>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace qrow::emulator {

// Stacks for all fibers, in one mapping, each with a guard page below it.
class StackPool {
 public:
  explicit StackPool(int count);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  int count() const { return count_; }
  char* stack(int index) const;
  static std::size_t stack_bytes();
  // Does any of the stacks hold this address?
  bool holds(const void* address) const {
    const char* at = static_cast<const char*>(address);
    return at >= base_ && at < base_ + bytes_;
  }

 private:
  char* base_ = nullptr;
  std::size_t bytes_ = 0;
  int count_;
};

// Where an execution goes on.
#if defined(__x86_64__)
// The stack pointer; the registers that a call preserves are on the stack. swapcontext() asks the
// kernel for the signal mask on every switch, which takes ten times as long as the switch, and
// longjmp() makes the address sanitizer forget the borders of the variables on the stack it leaves.
using Context = void*;
#else
using Context = ucontext_t;
#endif

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes this fiber run `body` on the stack when it is next resumed; where it stopped in the
  // middle of another body, that one is abandoned without a word. `body` must not throw.
  void start(char* stack, std::size_t bytes, std::function<void()> body);
  // Runs the fiber until it suspends or ends. REQUIRES: started and not ended.
  void resume();
  // By the fiber itself: back to whoever resumed it.
  void suspend();
  bool ended() const { return ended_; }

 private:
  static void enter(Fiber* fiber);
  static void enter_halves(unsigned high, unsigned low);

  std::function<void()> body_;
  char* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  bool ended_ = true;
  Context here_{};              // of the fiber
  Context caller_{};            // of resume()
  void* fake_stack_ = nullptr;  // the address sanitizer's
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace qrow::emulator
