#include "runtime/emulator/object.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>

namespace qrow::emulator {
namespace {

struct Search {
  std::uintptr_t address;
  CodeRange found;
};

int look(dl_phdr_info* info, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  CodeRange range{~std::uintptr_t{0}, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, begin + info->dlpi_phdr[i].p_memsz);
  }
  if (search.address < range.begin || search.address >= range.end) return 0;
  search.found = range;
  return 1;
}

}  // namespace

CodeRange code_range_of(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(&look, &search);
  return search.found;
}

std::unique_ptr<const Object> Object::load(const std::string& path, const std::string& name,
                                           std::string* why) {
  auto object = std::make_unique<Object>();
  object->library_ = DynLib::open(path, why);
  if (!object->library_) return nullptr;
  object->entry_ = static_cast<const Entry*>(object->library_.symbol((name + "_emulated").c_str()));
  if (object->entry_ == nullptr) {
    *why = fmt::format("'{}' holds no kernel '{}'", path, name);
    return nullptr;
  }
  const CodeRange range = code_range_of(object->entry_);
  object->begin_ = range.begin;
  object->end_ = range.end;
  return object;
}

}  // namespace qrow::emulator
