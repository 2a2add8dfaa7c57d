#include "tests/gpu/golden.hpp"

#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"
#include "runtime/base/hash.hpp"

namespace qrow {
namespace {

constexpr std::string_view kMagic = "qrow golden 1\n";

// Well mixed bits of a counter, the same everywhere.
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return static_cast<std::uint32_t>(z >> 32);
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint32_t kSpecialFloats[] = {
    0,          0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x3f800000, 0xbf800000,
    0x477fe000, 0x477fefff, 0x477ff000, 0x477fffff, 0x38800000, 0x387fffff, 0x33000000,
    0x33000001, 0x33800000, 0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x7f7f8000,
};

// Any bits, and the floats at which conversions change their mind.
Words floats(std::uint64_t seed, std::size_t count) {
  Words words(count);
  Bits bits(seed);
  for (std::uint32_t& word : words) word = bits.next();
  std::size_t place = 0;
  for (const std::uint32_t a : kSpecialFloats) {
    words[place++] = a;
    words[place++] = kSpecialFloats[bits.next() % std::size(kSpecialFloats)];
  }
  return words;
}

// Floats whose exponents lie in [low, high).
Words floats_between(std::uint64_t seed, std::size_t count, int low, int high, bool positive) {
  Words words(count);
  Bits bits(seed);
  for (std::uint32_t& word : words) {
    const std::uint32_t mantissa = bits.next();
    const auto exponent = static_cast<std::uint32_t>(
        low + static_cast<int>(bits.next() % static_cast<std::uint32_t>(high - low)) + 127);
    word = (mantissa & (positive ? 0x007fffffu : 0x807fffffu)) | exponent << 23;
  }
  return words;
}

// Operands of `warps` MMAs: 16-bit elements whose exponents lie in a range of `spread` (more in
// every second warp, so that sums lose bits), accumulators beside them.
Words mma_operands(std::uint64_t seed, std::size_t warps, bool bf16) {
  Words words;
  Bits bits(seed);
  const auto element = [&](std::uint32_t spread) {
    const std::uint32_t random = bits.next();
    const std::uint32_t exponent = random % spread;
    return bf16 ? (random >> 16 & 0x807fu) | (127 - spread / 2 + exponent) << 7
                : (random >> 16 & 0x83ffu) | (15 - spread / 2 + exponent) << 10;
  };
  for (std::size_t warp = 0; warp < warps; ++warp) {
    const std::uint32_t spread = warp % 2 == 0 ? 3 : 12;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 6; ++i) words.push_back(element(spread) << 16 | element(spread));
      for (int i = 0; i < 4; ++i)
        words.push_back((bits.next() & 0x807fffffu) | (120 + bits.next() % 16) << 23);
    }
  }
  return words;
}

Words every_byte() {
  Words words(64);
  for (std::uint32_t i = 0; i < 64; ++i) words[i] = (4 * i) * 0x01010101u + 0x03020100u;
  return words;
}

Words every_f16() {
  Words words(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) words[i] = i;
  return words;
}

Words random_words(std::uint64_t seed, std::size_t count) {
  Words words(count);
  Bits bits(seed);
  for (std::uint32_t& word : words) word = bits.next();
  return words;
}

}  // namespace

std::vector<Probe> probes() {
  return {
      {"e4m3x4_to_f16", ProbeOperation::e4m3x4_to_f16, true, every_byte()},
      {"f16_to_float", ProbeOperation::f16_to_float, true, every_f16()},
      {"pack_bf16x2", ProbeOperation::pack_bf16x2, true, floats(1, 2 * 65536)},
      {"pack_f16x2", ProbeOperation::pack_f16x2, true, floats(2, 2 * 65536)},
      {"pack_f16x2 in range", ProbeOperation::pack_f16x2, true,
       floats_between(3, 2 * 65536, -27, 17, false)},
      {"exp2_approx", ProbeOperation::exp2_approx, false, floats_between(4, 4096, -20, 8, false)},
      {"log2_approx", ProbeOperation::log2_approx, false, floats_between(5, 4096, -126, 127, true)},
      {"movmatrix_trans", ProbeOperation::movmatrix_trans, true, random_words(6, 64)},
      {"ldmatrix", ProbeOperation::ldmatrix, true, random_words(7, 256)},
      {"ldmatrix_trans", ProbeOperation::ldmatrix_trans, true, random_words(8, 256)},
      {"stmatrix", ProbeOperation::stmatrix, true, random_words(11, 256)},
      {"stmatrix_trans", ProbeOperation::stmatrix_trans, true, random_words(12, 256)},
      {"reduce_add", ProbeOperation::reduce_add, true, random_words(13, 64)},
      {"reduce_min", ProbeOperation::reduce_min, true, random_words(14, 64)},
      {"reduce_max", ProbeOperation::reduce_max, true, random_words(15, 64)},
      {"mma_bf16", ProbeOperation::mma_bf16, false, mma_operands(9, 64, true)},
      {"mma_f16", ProbeOperation::mma_f16, false, mma_operands(10, 64, false)},
  };
}

Words digest_words(const Words& words) {
  const Digest digest = digest_of(words.data(), words.size() * sizeof words[0]);
  return {static_cast<std::uint32_t>(digest.high >> 32), static_cast<std::uint32_t>(digest.high),
          static_cast<std::uint32_t>(digest.low >> 32), static_cast<std::uint32_t>(digest.low)};
}

// The magic, then per section: "NAME COUNT\n" and the words, little endian.
void write_golden(const std::string& path, const std::vector<GoldenSection>& sections) {
  std::string text{kMagic};
  for (const GoldenSection& section : sections) {
    text += fmt::format("{}\n{}\n", section.name, section.words.size());
    text.append(reinterpret_cast<const char*>(section.words.data()),
                section.words.size() * sizeof section.words[0]);
  }
  write_file(path, text);
}

std::vector<GoldenSection> read_golden(const std::string& path) {
  const std::string text = read_file(path);
  const auto bad = [&](const char* what) {
    fail(Status::invalid_argument, "'{}' is no file of recorded results: {}", path, what);
  };
  if (!text.starts_with(kMagic)) bad("it begins otherwise");
  std::vector<GoldenSection> sections;
  for (std::size_t place = kMagic.size(); place < text.size();) {
    const std::size_t name_end = text.find('\n', place);
    const std::size_t count_end =
        name_end == std::string::npos ? name_end : text.find('\n', name_end + 1);
    if (count_end == std::string::npos) bad("a section has no head");
    GoldenSection section;
    section.name = text.substr(place, name_end - place);
    section.words.resize(std::stoul(text.substr(name_end + 1, count_end - name_end - 1)));
    const std::size_t bytes = section.words.size() * sizeof section.words[0];
    if (bytes > text.size() - count_end - 1) bad("it ends early");
    std::memcpy(section.words.data(), text.data() + count_end + 1, bytes);
    place = count_end + 1 + bytes;
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace qrow
