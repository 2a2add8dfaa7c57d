// The identity of a kernel: canonical text of what it *is*, and the text's XXH3-128 digest.
//
// The text holds family, kernel spec (the group, not the head counts), tuning, arch, the digest of
// the template sources and the entry-format number. NVRTC's build and options are columns beside
// it: a host without NVRTC can look up.
#pragma once

#include <string>

#include "jit/family.hpp"
#include "runtime/base/hash.hpp"

namespace qrow {

// Persisted. Raise when the generated translation unit changes for the same variant (a golden test
// fails until then).
inline constexpr int kEntryFormat = 1;

struct Key {
  std::string text;
  Digest digest;  // of text
  bool operator==(const Key&) const = default;
};

// `sources` is the digest of the template texts that the variant's entry includes
// (templates/sources.hpp).
Key make_key(const Variant& variant, const Digest& sources);

}  // namespace qrow
