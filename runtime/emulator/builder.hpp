// Compiles kernels for the CPU with the host's C++ compiler: the templates as they are, with the
// emulator's headers in place of the CUDA language and of common/ptx.cuh. Objects are kept by name,
// and are made again when their text, the templates, the emulator or the compiler change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/key.hpp"

namespace qrow::emulator {

enum class Instrument {
  accesses,  // plain loads and stores are seen: races, bounds, alignment
  sanitize,  // address and undefined behaviour sanitizers; for programs that run with them
  nothing,
};

struct BuildOptions {
  std::string folder;    // for objects and headers; created
  std::string compiler;  // "": g++, else clang++
  Instrument instrument = Instrument::accesses;
  int jobs = 1;
};

// A kernel to make: its name, and a text that defines it and ends with QROW_EMULATED_ENTRY.
struct BuildItem {
  std::string name;
  std::string text;
};
// The entry text of a variant and the line by which the emulator finds it.
BuildItem build_item(const Variant& variant, const Key& key);

// The compiler that would be used; nothing if there is none.
std::optional<std::string> host_compiler(const BuildOptions& options);

// FOLDER/NAME.so, whether or not it is there.
std::string object_path(const BuildOptions& options, const std::string& name);

struct BuildCounts {
  int compiled = 0;
  int kept = 0;  // there already
};
// Makes the objects that are missing. Throws Error(no_compiler), Error(compile_failed) with the
// compiler's text.
BuildCounts build_objects(const BuildOptions& options, const std::vector<BuildItem>& items);

}  // namespace qrow::emulator
