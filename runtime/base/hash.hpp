// XXH3-128 digests: of key texts (lookup) and of cubins (checksum). Not cryptographic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qrow {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const Digest&) const = default;
  auto operator<=>(const Digest&) const = default;
  // 32 lower-case hex digits, most significant first (XXH128 canonical order).
  std::string hex() const;
};

// Throws Error(invalid_argument) unless `text` is 32 hex digits.
Digest digest_from_hex(std::string_view text);

Digest digest_of(const void* data, std::size_t size);
inline Digest digest_of(std::string_view text) { return digest_of(text.data(), text.size()); }

}  // namespace qrow
