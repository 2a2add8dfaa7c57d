// Digests as the 16 bytes that the file holds: most significant first. Persisted. Private to
// cache/.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "runtime/base/hash.hpp"

namespace qrow {

inline std::array<std::byte, 16> digest_bytes(const Digest& digest) {
  std::array<std::byte, 16> bytes;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(digest.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::byte>(digest.low >> (56 - 8 * i));
  }
  return bytes;
}

// Nothing if there are not 16 bytes (a damaged row).
inline std::optional<Digest> digest_from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() != 16) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < 8; ++i) {
    digest.high = digest.high << 8 | static_cast<std::uint64_t>(bytes[i]);
    digest.low = digest.low << 8 | static_cast<std::uint64_t>(bytes[8 + i]);
  }
  return digest;
}

}  // namespace qrow
