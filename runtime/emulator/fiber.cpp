#include "runtime/emulator/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <utility>

#include "runtime/base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define QROW_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QROW_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef QROW_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace qrow::emulator {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStackBytes = 252 << 10;  // with the guard a multiple of 4 KB

// Tells the address sanitizer on which stack the code goes on; nothing without it.
void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* stack,
                  [[maybe_unused]] std::size_t bytes) {
#ifdef QROW_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}
void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** from,
                   [[maybe_unused]] std::size_t* bytes) {
#ifdef QROW_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, from, bytes);
#endif
}

}  // namespace

StackPool::StackPool(int count)
    : bytes_(static_cast<std::size_t>(count) * (kStackBytes + kGuardBytes)), count_(count) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fail(Status::out_of_memory, "no room for the stacks of {} emulated threads ({} MB)", count,
         bytes_ >> 20);
  }
  base_ = static_cast<char*>(memory);
  for (int i = 0; i < count; ++i) mprotect(stack(i) - kGuardBytes, kGuardBytes, PROT_NONE);
}

StackPool::~StackPool() { munmap(base_, bytes_); }

std::size_t StackPool::stack_bytes() { return kStackBytes; }

char* StackPool::stack(int index) const {
  return base_ + static_cast<std::size_t>(index) * (kStackBytes + kGuardBytes) + kGuardBytes;
}

void Fiber::start(char* stack, std::size_t bytes, std::function<void()> body) {
  stack_ = stack;
  stack_bytes_ = bytes;
  body_ = std::move(body);
  fresh_ = true;
  ended_ = false;
}

// makecontext passes ints.
void Fiber::enter(unsigned high, unsigned low) {
  const std::uintptr_t address = static_cast<std::uintptr_t>(high) << 32 | low;
  reinterpret_cast<Fiber*>(address)->run();
}

void Fiber::run() {
  finish_switch(nullptr, &caller_stack_, &caller_stack_bytes_);
  body_();
  ended_ = true;
  start_switch(nullptr, caller_stack_, caller_stack_bytes_);
  _longjmp(caller_, 1);
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  if (_setjmp(caller_) == 0) {
    start_switch(&fake_stack, stack_, stack_bytes_);
    if (!fresh_) _longjmp(here_, 1);
    fresh_ = false;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_;
    context.uc_stack.ss_size = stack_bytes_;
    context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    setcontext(&context);
  }
  finish_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  if (_setjmp(here_) == 0) {
    start_switch(&fake_stack_, caller_stack_, caller_stack_bytes_);
    _longjmp(caller_, 1);
  }
  finish_switch(fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

}  // namespace qrow::emulator
