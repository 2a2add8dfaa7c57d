// A stack of its own on which a function runs, and can be left and entered again. Used by one
// operating-system thread.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <functional>

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

// The first entry goes through ucontext, later ones through setjmp: swapcontext asks the kernel for
// the signal mask on every switch, which costs more than the switch.
class Fiber {
 public:
  // Makes this fiber run `body` on the stack when it is next resumed. `body` must not throw.
  void start(char* stack, std::size_t bytes, std::function<void()> body);
  // Runs the fiber until it suspends or ends. REQUIRES: started and not ended.
  void resume();
  // By the fiber itself: back to whoever resumed it.
  void suspend();
  bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void run();

  std::function<void()> body_;
  char* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  bool fresh_ = false;
  bool ended_ = true;
  std::jmp_buf here_;           // of the fiber
  std::jmp_buf caller_;         // of resume()
  void* fake_stack_ = nullptr;  // the address sanitizer's
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace qrow::emulator
