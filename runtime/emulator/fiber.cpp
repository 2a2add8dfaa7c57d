#include "runtime/emulator/fiber.hpp"

#include <sys/mman.h>

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
#include <sanitizer/asan_interface.h>
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

// A stack that was left in the middle of a function is to be used anew.
void forget_frames([[maybe_unused]] char* stack, [[maybe_unused]] std::size_t bytes) {
#ifdef QROW_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack, bytes);
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

#if defined(__x86_64__)

// qrow_switch_stack(from, to): the caller goes on when *from is switched to.
// qrow_start_fiber: what a new fiber returns to; calls r13(r12).
asm(R"(
.text
.globl qrow_switch_stack
.hidden qrow_switch_stack
.type qrow_switch_stack, @function
qrow_switch_stack:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size qrow_switch_stack, .-qrow_switch_stack
.globl qrow_start_fiber
.hidden qrow_start_fiber
.type qrow_start_fiber, @function
qrow_start_fiber:
  .cfi_startproc
  .cfi_undefined %rip
  movq %r12, %rdi
  call *%r13
  ud2
  .cfi_endproc
.size qrow_start_fiber, .-qrow_start_fiber
)");
extern "C" void qrow_switch_stack(Context* from, Context to);
extern "C" void qrow_start_fiber();

namespace {

void switch_to(Context& from, const Context& to) { qrow_switch_stack(&from, to); }

Context new_context(char* stack, std::size_t bytes, Fiber* fiber, void (*enter)(Fiber*),
                    void (*)(unsigned, unsigned)) {
  void** top = reinterpret_cast<void**>(stack + bytes);  // a multiple of 16
  *--top = nullptr;
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&qrow_start_fiber);
  *--top = nullptr;                         // rbp
  *--top = nullptr;                         // rbx
  *--top = fiber;                           // r12
  *--top = reinterpret_cast<void*>(enter);  // r13
  *--top = nullptr;                         // r14
  *--top = nullptr;                         // r15
  return top;
}

}  // namespace

#else

namespace {

void switch_to(Context& from, const Context& to) { swapcontext(&from, &to); }

// makecontext passes ints.
Context new_context(char* stack, std::size_t bytes, Fiber* fiber, void (*)(Fiber*),
                    void (*enter_halves)(unsigned, unsigned)) {
  Context context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(fiber);
  makecontext(&context, reinterpret_cast<void (*)()>(enter_halves), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  return context;
}

}  // namespace

#endif

void Fiber::start(char* stack, std::size_t bytes, std::function<void()> body) {
  stack_ = stack;
  stack_bytes_ = bytes;
  body_ = std::move(body);
  fake_stack_ = nullptr;
  ended_ = false;
  forget_frames(stack, bytes);
  here_ = new_context(stack, bytes, this, &Fiber::enter, &Fiber::enter_halves);
}

void Fiber::enter_halves(unsigned high, unsigned low) {
  enter(reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low));
}

void Fiber::enter(Fiber* fiber) {
  finish_switch(nullptr, &fiber->caller_stack_, &fiber->caller_stack_bytes_);
  fiber->body_();
  fiber->ended_ = true;
  start_switch(nullptr, fiber->caller_stack_, fiber->caller_stack_bytes_);
  switch_to(fiber->here_, fiber->caller_);
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stack_, stack_bytes_);
  switch_to(caller_, here_);
  finish_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  start_switch(&fake_stack_, caller_stack_, caller_stack_bytes_);
  switch_to(here_, caller_);
  finish_switch(fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

}  // namespace qrow::emulator
