// The template texts, embedded in the library at build time: no include path exists at run time,
// and keys do not depend on where anything is installed.
#pragma once

#include <span>
#include <string_view>

#include "jit/compiler.hpp"
#include "runtime/base/hash.hpp"

namespace qrow {

// Every templates/**/*.cuh, sorted by path.
std::span<const SourceFile> template_sources();

// Digest of the texts that `templates/<family>/kernel.cuh` includes, itself and all that is reached
// from it. Computed once per family. Throws Error(internal) for an unknown family.
Digest template_digest(std::string_view family);

}  // namespace qrow
