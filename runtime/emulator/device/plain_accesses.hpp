// Plain loads and stores: compiled with -fsanitize=thread, each calls one of these hooks, which
// tell the emulator. They take the place of the sanitizer's runtime, which is not linked.
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
