#include "jit/cubin_info.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

// The parts of ELF64 that are read, at their offsets in the file format. Little endian, as every
// GPU's.
constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint32_t kSymbolTable = 2;
// The flags hold the chip's number: in the second byte in this OS ABI, in the lowest in the older
// one (51: CUDA 12 below sm_100), which also has a bit for the suffix 'a'.
constexpr std::uint8_t kOsAbiNew = 65;
constexpr std::uint32_t kOldFlagExact = 0x800;
constexpr std::size_t kSectionHeaderBytes = 64, kSymbolBytes = 24;

// Records of .nv.info: format (u8), attribute (u8), value or size (u16); only format 4 has bytes
// that follow.
constexpr std::uint8_t kSizedValue = 4;
constexpr std::uint8_t kFrameSize = 0x11, kMinStackSize = 0x12, kRegisterCount = 0x2f;

// From sm_90 on the first 1024 bytes of a kernel's section are the system's.
constexpr int kSystemSmemBytes = 1024;

// Every read is checked: `bytes` may be anything.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T at(std::uint64_t offset) const {
    T value{};
    const auto part = range(offset, sizeof(T));
    std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      fail(Status::invalid_argument, "damaged cubin: bytes {} to {} of {} are asked for", offset,
           offset + size, bytes_.size());
    }
    return bytes_.subspan(offset, size);
  }
  std::string_view text(std::uint64_t offset) const {
    const auto rest = range(offset, offset > bytes_.size() ? 1 : bytes_.size() - offset);
    const auto* first = reinterpret_cast<const char*>(rest.data());
    const void* end = rest.empty() ? nullptr : std::memchr(first, '\0', rest.size());
    if (end == nullptr)
      fail(Status::invalid_argument, "damaged cubin: a name without end at byte {}", offset);
    return {first, static_cast<std::size_t>(static_cast<const char*>(end) - first)};
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
};

class Elf {
 public:
  static bool is_cuda(std::span<const std::byte> bytes) {
    constexpr unsigned char kMagic[] = {0x7f, 'E', 'L', 'F', 2, 1};  // 64 bits, little endian
    return bytes.size() >= 64 && std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) == 0 &&
           Reader(bytes).at<std::uint16_t>(18) == kMachineCuda;
  }

  // REQUIRES: is_cuda.
  explicit Elf(std::span<const std::byte> bytes) : file_(bytes) {
    table_ = file_.at<std::uint64_t>(40);
    count_ = file_.at<std::uint16_t>(60);
    if (file_.at<std::uint16_t>(58) != kSectionHeaderBytes) {
      fail(Status::invalid_argument, "damaged cubin: section headers of {} bytes",
           file_.at<std::uint16_t>(58));
    }
    file_.range(table_, std::uint64_t{count_} * kSectionHeaderBytes);
    names_ = raw_section(file_.at<std::uint16_t>(62)).offset;
  }

  int chip() const { return static_cast<int>((new_abi() ? flags() >> 8 : flags()) & 0xff); }
  bool flagged_exact() const { return !new_abi() && (flags() & kOldFlagExact) != 0; }

  std::optional<Section> find(std::string_view name) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (section_name(i) == name) return named_section(i);
    }
    return std::nullopt;
  }

  // Index of the symbol `name` in the table that `of` links to. Nothing if there is none.
  std::optional<std::uint32_t> symbol(const Section& of, std::string_view name) const {
    const Section table = raw_section(of.link);
    if (table.type != kSymbolTable)
      fail(Status::invalid_argument, "damaged cubin: {} links to no symbols", of.name);
    const std::uint64_t strings = raw_section(table.link).offset;
    const std::uint64_t count = table.size / kSymbolBytes;
    file_.range(table.offset, table.size);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto name_at = file_.at<std::uint32_t>(table.offset + i * kSymbolBytes);
      if (file_.text(strings + name_at) == name) return static_cast<std::uint32_t>(i);
    }
    return std::nullopt;
  }

  std::span<const std::byte> bytes_of(const Section& section) const {
    return file_.range(section.offset, section.size);
  }

 private:
  bool new_abi() const { return file_.at<std::uint8_t>(7) == kOsAbiNew; }
  std::uint32_t flags() const { return file_.at<std::uint32_t>(48); }
  Section raw_section(std::uint32_t index) const {
    if (index >= count_)
      fail(Status::invalid_argument, "damaged cubin: section {} of {} is named", index, count_);
    const std::uint64_t at = table_ + std::uint64_t{index} * kSectionHeaderBytes;
    Section section;
    section.type = file_.at<std::uint32_t>(at + 4);
    section.offset = file_.at<std::uint64_t>(at + 24);
    section.size = file_.at<std::uint64_t>(at + 32);
    section.link = file_.at<std::uint32_t>(at + 40);
    return section;
  }
  std::string_view section_name(std::uint32_t index) const {
    const std::uint64_t at = table_ + std::uint64_t{index} * kSectionHeaderBytes;
    return file_.text(names_ + file_.at<std::uint32_t>(at));
  }
  Section named_section(std::uint32_t index) const {
    Section section = raw_section(index);
    section.name = section_name(index);
    return section;
  }

  Reader file_;
  std::uint64_t table_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t names_ = 0;
};

// Calls visit(attribute, payload) for each record with a payload of two words (symbol, value).
template <typename Visit>
void for_each_pair(std::span<const std::byte> bytes, Visit visit) {
  const Reader records(bytes);
  for (std::uint64_t at = 0; at + 4 <= records.size();) {
    const auto format = records.at<std::uint8_t>(at);
    const auto attribute = records.at<std::uint8_t>(at + 1);
    const auto size = format == kSizedValue ? records.at<std::uint16_t>(at + 2) : std::uint16_t{0};
    if (size == 8)
      visit(attribute, records.at<std::uint32_t>(at + 4), records.at<std::uint32_t>(at + 8));
    at += 4 + size;
  }
}

int to_int(std::uint64_t value) {
  if (value > 0x7fffffff)
    fail(Status::invalid_argument, "damaged cubin: a size of {} bytes", value);
  return static_cast<int>(value);
}

}  // namespace

Resources read_cubin_info(std::span<const std::byte> cubin, std::string_view kernel) {
  if (!Elf::is_cuda(cubin)) {
    fail(Status::invalid_argument, "{} bytes that should be a cubin are no CUDA ELF file",
         cubin.size());
  }
  const Elf elf(cubin);
  const auto info = elf.find(".nv.info");
  const auto symbol = info ? elf.symbol(*info, kernel) : std::nullopt;
  if (!symbol || !elf.find(".text." + std::string(kernel))) {
    fail(Status::invalid_argument, "the cubin has no kernel '{}'", kernel);
  }
  Resources found;
  for_each_pair(elf.bytes_of(*info),
                [&](std::uint8_t attribute, std::uint32_t of, std::uint32_t value) {
                  if (of != *symbol) return;
                  if (attribute == kRegisterCount) found.registers = to_int(value);
                  if (attribute == kFrameSize || attribute == kMinStackSize) {
                    found.stack_bytes = std::max(found.stack_bytes, to_int(value));
                  }
                });
  if (const auto shared = elf.find(".nv.shared." + std::string(kernel))) {
    const int system = elf.chip() >= 90 ? kSystemSmemBytes : 0;
    found.static_smem_bytes = std::max(0, to_int(shared->size) - system);
  }
  return found;
}

std::string cubin_arch(std::span<const std::byte> cubin) {
  if (!Elf::is_cuda(cubin)) return "";
  try {
    const Elf elf(cubin);
    const std::string name = fmt::format("sm_{}", elf.chip());
    if (elf.flagged_exact()) return name + 'a';
    // Newer headers have the number alone; the suffix is in the note of the assembler's options.
    const auto note = elf.find(".note.nv.tkinfo");
    if (!note) return name;
    const auto bytes = elf.bytes_of(*note);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.find("-arch " + name);
    const std::size_t suffix = at + 6 + name.size();
    if (at == std::string_view::npos || suffix >= text.size()) return name;
    return text[suffix] == 'a' || text[suffix] == 'f' ? name + text[suffix] : name;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace qrow
