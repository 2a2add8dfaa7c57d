#include "runtime/base/hash.hpp"

#include <xxhash.h>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// -1 if `c` is no hex digit. By hand, because isxdigit and strtoull depend on the locale and accept
// signs.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned shift = static_cast<unsigned>(60 - 4 * i);
    text[i] = kHexDigits[(high >> shift) & 15];
    text[16 + i] = kHexDigits[(low >> shift) & 15];
  }
  return text;
}

Digest digest_from_hex(std::string_view text) {
  Digest digest;
  bool good = text.size() == 32;
  for (std::size_t i = 0; good && i < 32; ++i) {
    const int value = hex_value(text[i]);
    good = value >= 0;
    std::uint64_t& half = i < 16 ? digest.high : digest.low;
    half = half << 4 | static_cast<std::uint64_t>(value & 15);
  }
  if (!good) fail(Status::invalid_argument, "'{}' is not a digest: expected 32 hex digits", text);
  return digest;
}

Digest digest_of(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return {hash.high64, hash.low64};
}

}  // namespace qrow
