#include "runtime/emulator/memory.hpp"

#include <sys/mman.h>

#include "runtime/base/error.hpp"

namespace qrow::emulator {
namespace {
constexpr std::size_t kWordBytes = 4;
}

Memory::~Memory() {
  for (const auto& [begin, allocation] : allocations_) unmap(allocation);
}

void Memory::unmap(const Allocation& allocation) {
  munmap(allocation.words, allocation.mapped_bytes);
}

void Memory::add(void* begin, std::size_t bytes) {
  Allocation allocation;
  allocation.begin = reinterpret_cast<std::uintptr_t>(begin);
  allocation.end = allocation.begin + bytes;
  allocation.mapped_bytes = (bytes / kWordBytes + 2) * sizeof(Word);
  void* mapped = mmap(nullptr, allocation.mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    fail(Status::out_of_memory, "no room to keep track of {} MB of device memory", bytes >> 20);
  allocation.words = static_cast<Word*>(mapped);
  remove(begin);
  allocations_[allocation.begin] = allocation;
}

void Memory::remove(void* begin) {
  const auto place = allocations_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (place == allocations_.end()) return;
  unmap(place->second);
  allocations_.erase(place);
  last_ = nullptr;
}

Memory::Words Memory::words(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (last_ == nullptr || at < last_->begin || at >= last_->end) {
    auto place = allocations_.upper_bound(at);
    if (place == allocations_.begin()) return {};
    last_ = &(--place)->second;
  }
  if (at < last_->begin || at >= last_->end || bytes > last_->end - at) return {};
  const std::uintptr_t offset = at - last_->begin;
  const std::uintptr_t first = offset / kWordBytes;
  return {last_->words + first, (offset + bytes - 1) / kWordBytes - first + 1};
}

}  // namespace qrow::emulator
