// Plain loads and stores: compiled with -fsanitize=thread,alignment, each calls one of these hooks,
// which tell the emulator. They take the place of the sanitizers' runtime, which is not linked.
#pragma once

#include "runtime/emulator/device/cuda.hpp"

#define QROW_HOOK extern "C" __attribute__((noinline, no_sanitize("thread"), visibility("hidden")))
#define QROW_ACCESS(name, operation, bytes, alignment)                         \
  QROW_HOOK void name(void* address) {                                         \
    qrow::emulator::machine().operation(address, bytes, alignment, QROW_SITE); \
  }
#define QROW_ACCESSES(bytes)                                   \
  QROW_ACCESS(__tsan_read##bytes, read, bytes, bytes)          \
  QROW_ACCESS(__tsan_write##bytes, write, bytes, bytes)        \
  QROW_ACCESS(__tsan_unaligned_read##bytes, read, bytes, 1)    \
  QROW_ACCESS(__tsan_unaligned_write##bytes, write, bytes, 1)  \
  QROW_ACCESS(__tsan_volatile_read##bytes, read, bytes, bytes) \
  QROW_ACCESS(__tsan_volatile_write##bytes, write, bytes, bytes)
QROW_ACCESSES(1)
QROW_ACCESSES(2)
QROW_ACCESSES(4)
QROW_ACCESSES(8)
QROW_ACCESSES(16)
QROW_HOOK void __tsan_read_range(void* address, unsigned long bytes) {
  qrow::emulator::machine().read(address, static_cast<unsigned>(bytes), 1, QROW_SITE);
}
QROW_HOOK void __tsan_write_range(void* address, unsigned long bytes) {
  qrow::emulator::machine().write(address, static_cast<unsigned>(bytes), 1, QROW_SITE);
}
QROW_HOOK void __tsan_init() {}
QROW_HOOK void __tsan_func_entry(void*) {}
QROW_HOOK void __tsan_func_exit() {}

// A vector is loaded by parts where only parts are used, so the hooks above do not see its whole
// alignment. -fsanitize=alignment tests that before, and calls this where the test fails.
struct QrowMisaligned {
  struct {
    const char* file;
    unsigned line, column;
  } place;
  const void* type;
  unsigned char log_alignment;
  unsigned char access;  // 1: a store; loads, references and members are others
};
QROW_HOOK void __ubsan_handle_type_mismatch_v1(const QrowMisaligned* what, void* address) {
  const unsigned alignment = 1u << what->log_alignment;
  if (what->access == 1) {
    qrow::emulator::machine().write(address, alignment, alignment, QROW_SITE);
  } else {
    qrow::emulator::machine().read(address, alignment, alignment, QROW_SITE);
  }
}

// What a kernel calls itself, and clang for large structs. Only in an object of its own: in a
// program they would take the place of the C library's.
#ifdef QROW_OBJECT_OF_ITS_OWN
QROW_HOOK void* memcpy(void* to, const void* from, unsigned long bytes) noexcept {
  if (bytes == 0) return to;
  qrow::emulator::machine().read(from, static_cast<unsigned>(bytes), 1, QROW_SITE);
  qrow::emulator::machine().write(to, static_cast<unsigned>(bytes), 1, QROW_SITE);
  for (unsigned long i = 0; i < bytes; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
QROW_HOOK void* memset(void* to, int value, unsigned long bytes) noexcept {
  if (bytes == 0) return to;
  qrow::emulator::machine().write(to, static_cast<unsigned>(bytes), 1, QROW_SITE);
  for (unsigned long i = 0; i < bytes; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<char>(value);
  return to;
}
#endif
