// The bytes that a row's checksum is made from. Persisted: an edit voids every row. Private to
// cache/.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/hash.hpp"

namespace qrow {

// Every value with its length or in eight bytes, so that no two rows give the same text.
class Checksum {
 public:
  Checksum& add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  Checksum& add(std::span<const std::byte> bytes) {
    return add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  Checksum& add(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
    return *this;
  }
  Checksum& add(int value) { return add(std::int64_t{value}); }
  Checksum& add(double value) { return add(std::bit_cast<std::int64_t>(value)); }
  Checksum& add(const Digest& digest) {
    return add(std::bit_cast<std::int64_t>(digest.high))
        .add(std::bit_cast<std::int64_t>(digest.low));
  }
  Digest digest() const { return digest_of(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace qrow
