// The direction of dependencies, read from the includes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/tree/checkout.hpp"

namespace qrow::tree {
namespace {

struct Layer {
  const char* folder;
  std::vector<const char*> may_include;
};

// Of the rows that match a file the longest folder counts.
const Layer kLayers[] = {
    {"runtime/base/", {"runtime/base/"}},
    {"cache/", {"cache/", "runtime/base/"}},
    {"jit/", {"jit/", "runtime/base/"}},
    {"templates/", {"templates/", "jit/", "runtime/base/"}},
    {"runtime/include/", {}},
    {"runtime/driver/", {"runtime/driver/", "runtime/base/", "jit/"}},
    {"runtime/", {"runtime/", "templates/", "jit/", "cache/", "qrow/"}},
    {"tests/", {"tests/", "runtime/", "templates/", "jit/", "cache/", "qrow/"}},
};

bool is_source(const SourceFile& file) {
  for (const char* suffix : {".cpp", ".hpp", ".cuh", ".h", ".c", ".def"}) {
    if (ends_with(file.path, suffix)) return true;
  }
  return false;
}

const Layer* layer_of(const std::string& path) {
  const Layer* best = nullptr;
  for (const Layer& layer : kLayers) {
    if (!starts_with(path, layer.folder)) continue;
    if (best == nullptr || std::strlen(layer.folder) > std::strlen(best->folder)) best = &layer;
  }
  return best;
}

bool allowed(const Layer& layer, const std::string& include) {
  // A name without a folder is a file that the build generates ("embedded_sources.inc").
  if (include.find('/') == std::string::npos) return ends_with(include, ".inc");
  return std::any_of(layer.may_include.begin(), layer.may_include.end(),
                     [&](const char* folder) { return starts_with(include, folder); });
}

}  // namespace

TEST_CASE("Every layer includes only the layers below it") {
  for (const SourceFile& file : source_files()) {
    if (!is_source(file)) continue;
    const Layer* layer = layer_of(file.path);
    REQUIRE_MESSAGE(layer != nullptr, file.path << " lies in no layer");
    for (const Include& include : includes(file)) {
      if (include.angled) continue;
      CHECK_MESSAGE(allowed(*layer, include.name), at(file, include.line, include.name)
                                                       << " is not below "
                                                       << std::string(layer->folder));
    }
  }
}

TEST_CASE("An include is a path from the root, never from the file's own folder") {
  for (const SourceFile& file : source_files()) {
    if (!is_source(file)) continue;
    for (const Include& include : includes(file)) {
      CHECK_MESSAGE(include.name.find("..") == std::string::npos,
                    at(file, include.line, include.name));
    }
  }
}

TEST_CASE("Device code includes nothing outside templates") {
  size_t device_files = 0;
  for (const SourceFile& file : source_files()) {
    if (!ends_with(file.path, ".cuh")) continue;
    ++device_files;
    CHECK_MESSAGE(starts_with(file.path, "templates/"), file.path << " is outside templates/");
    for (const Include& include : includes(file)) {
      const bool inside = !include.angled && starts_with(include.name, "templates/");
      CHECK_MESSAGE(inside, at(file, include.line, include.name));
    }
  }
  CHECK(device_files > 0);
}

TEST_CASE("Device code names no CUDA header") {
  for (const SourceFile& file : source_files()) {
    if (!ends_with(file.path, ".cuh")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      for (const char* header : {"cuda.h", "cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_runtime",
                                 "cooperative_groups", "mma.h", "cuda/std"}) {
        CHECK_MESSAGE(file.lines[i].find(header) == std::string::npos, at(file, i + 1, header));
      }
    }
  }
}

TEST_CASE("Only the driver's headers and the fake driver see the CUDA header") {
  for (const SourceFile& file : source_files()) {
    if (!is_source(file)) continue;
    const bool may = starts_with(file.path, "runtime/driver/") || starts_with(file.path, "tests/");
    for (const Include& include : includes(file)) {
      const bool is_cuda = include.angled && starts_with(include.name, "cuda");
      CHECK_MESSAGE((may || !is_cuda), at(file, include.line, include.name));
      const bool is_nvrtc = include.angled && starts_with(include.name, "nvrtc");
      CHECK_MESSAGE(!is_nvrtc, at(file, include.line, include.name));
    }
  }
}

TEST_CASE("The public header includes stddef and stdint alone") {
  for (const SourceFile& file : source_files()) {
    if (!starts_with(file.path, "runtime/include/")) continue;
    for (const Include& include : includes(file)) {
      const bool plain = include.name == "stddef.h" || include.name == "stdint.h";
      CHECK_MESSAGE(plain, at(file, include.line, include.name));
    }
  }
}

}  // namespace qrow::tree
