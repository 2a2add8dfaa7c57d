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

Object::Object(const Entry* entry) : entry_(entry) {
  const CodeRange range = code_range_of(entry);
  begin_ = range.begin;
  end_ = range.end;
}

std::unique_ptr<const Object> Object::load(const std::string& path, const std::string& name,
                                           std::string* why) {
  DynLib library = DynLib::open(path, why);
  if (!library) return nullptr;
  const auto* entry = static_cast<const Entry*>(library.symbol((name + "_emulated").c_str()));
  if (entry == nullptr) {
    *why = fmt::format("'{}' holds no kernel '{}'", path, name);
    return nullptr;
  }
  auto object = std::make_unique<Object>(entry);
  object->library_ = std::move(library);
  return object;
}

}  // namespace qrow::emulator
