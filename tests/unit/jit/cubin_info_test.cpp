#include "jit/cubin_info.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

// A minimal cubin, built section by section: what the reader needs and nothing else.
class CubinBuilder {
 public:
  explicit CubinBuilder(unsigned chip) : chip_(chip) {}

  std::vector<std::byte> build() {
    bytes_.assign(64, std::byte{0});
    const std::string names = section_names();
    const std::string symbol_names(std::string("\0foo\0", 5));
    std::string symbols(24, '\0');               // the null symbol
    symbols += word(1) + std::string(20, '\0');  // foo
    const std::string info = record(0x2f, 1, 40) + std::string("\x03\x1b\xa8\x00", 4) +
                             record(0x11, 1, 16) + record(0x12, 1, 24) + record(0x2f, 0, 999);
    const std::string note = "ptxas -arch sm_" + std::to_string(chip_) + "a -v";
    add(0, "", 0, 0);
    add(3, names, 0, 0);
    add(2, symbols, 3, 0);
    add(3, symbol_names, 0, 0);
    add(0x70000000, info, 2, 0);
    add(1, "code", 0, 0);
    add(8, "", 0, chip_ >= 90 ? 1024 + 128 : 128);  // no bytes in the file
    add(7, note, 0, 0);
    finish();
    return bytes_;
  }

 private:
  static std::string word(std::uint32_t value) {
    std::string text(4, '\0');
    std::memcpy(text.data(), &value, 4);
    return text;
  }
  static std::string record(char attribute, std::uint32_t symbol, std::uint32_t value) {
    return std::string{4, attribute, 8, 0} + word(symbol) + word(value);
  }
  std::string section_names() {
    std::string text(1, '\0');
    for (const char* name : {"", ".shstrtab", ".symtab", ".strtab", ".nv.info", ".text.foo",
                             ".nv.shared.foo", ".note.nv.tkinfo"}) {
      name_offsets_.push_back(static_cast<std::uint32_t>(*name == '\0' ? 0 : text.size()));
      if (*name != '\0') text += std::string(name) + '\0';
    }
    return text;
  }
  void add(std::uint32_t type, const std::string& content, std::uint32_t link,
           std::uint64_t size_in_memory) {
    headers_.resize(headers_.size() + 64, '\0');
    char* header = headers_.data() + headers_.size() - 64;
    const std::uint64_t offset = bytes_.size();
    const std::uint64_t size = size_in_memory != 0 ? size_in_memory : content.size();
    std::memcpy(header, &name_offsets_[headers_.size() / 64 - 1], 4);
    std::memcpy(header + 4, &type, 4);
    std::memcpy(header + 24, &offset, 8);
    std::memcpy(header + 32, &size, 8);
    std::memcpy(header + 40, &link, 4);
    for (const char c : content) bytes_.push_back(static_cast<std::byte>(c));
  }
  template <typename T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }
  void finish() {
    const std::uint64_t table = bytes_.size();
    for (const char c : headers_) bytes_.push_back(static_cast<std::byte>(c));
    std::memcpy(bytes_.data(),
                "\x7f"
                "ELF\x02\x01\x01",
                7);
    put<std::uint8_t>(7, 65);
    put<std::uint16_t>(18, 190);
    put<std::uint64_t>(40, table);
    put<std::uint32_t>(48, 0x06000004u | chip_ << 8);
    put<std::uint16_t>(58, 64);
    put<std::uint16_t>(60, static_cast<std::uint16_t>(headers_.size() / 64));
    put<std::uint16_t>(62, 1);
  }

  unsigned chip_;
  std::vector<std::byte> bytes_;
  std::string headers_;
  std::vector<std::uint32_t> name_offsets_;
};

// Reads whatever it is given; anything but a clean Error fails the test (sanitizers see the rest).
void read_hostile(const std::vector<std::byte>& bytes) {
  cubin_arch(bytes);
  try {
    read_cubin_info(bytes, "foo");
  } catch (const Error& error) {
    CHECK(error.status() == Status::invalid_argument);
  }
}

}  // namespace

TEST_CASE("A cubin's ELF tells registers, stack, shared memory and architecture") {
  const Resources on_90 = read_cubin_info(CubinBuilder(90).build(), "foo");
  CHECK(on_90.registers == 40);
  CHECK(on_90.stack_bytes == 24);
  CHECK(on_90.static_smem_bytes == 128);
  CHECK(on_90.spill_store_bytes == 0);
  CHECK(read_cubin_info(CubinBuilder(80).build(), "foo").static_smem_bytes == 128);
  CHECK(cubin_arch(CubinBuilder(90).build()) == "sm_90a");
  CHECK(cubin_arch(CubinBuilder(120).build()) == "sm_120a");
}

TEST_CASE("A kernel that the cubin lacks is named") {
  try {
    read_cubin_info(CubinBuilder(90).build(), "bar");
    FAIL("a kernel was found that is not there");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "the cubin has no kernel 'bar'");
  }
}

TEST_CASE("What is no CUDA ELF is refused") {
  std::vector<std::byte> bytes = CubinBuilder(90).build();
  bytes[18] = std::byte{62};  // x86-64
  CHECK_THROWS_AS(read_cubin_info(bytes, "foo"), Error);
  CHECK(cubin_arch(bytes).empty());
  CHECK_THROWS_AS(read_cubin_info({}, "foo"), Error);
  CHECK(cubin_arch({}).empty());
}

TEST_CASE("A truncated cubin is an error at every length, never a read beyond its end") {
  const std::vector<std::byte> whole = CubinBuilder(90).build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(size));
    read_hostile(part);
    CHECK_THROWS_AS(read_cubin_info(part, "foo"), Error);
  }
}

TEST_CASE("A cubin with any byte changed is read or refused, never more") {
  const std::vector<std::byte> whole = CubinBuilder(90).build();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> changed = whole;
      changed[at] = static_cast<std::byte>(value);
      read_hostile(changed);
    }
  }
}

}  // namespace qrow
