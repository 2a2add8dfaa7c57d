#include "jit/arch.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr Arch kArchs[] = {
#define QROW_ARCH(name, major, minor, smem_block, smem_sm, warps, e4m3, pdl) \
  {#name, major, minor, smem_block, smem_sm, warps, e4m3, pdl},
#include "jit/arch.def"
#undef QROW_ARCH
};

constexpr ArchFeature kFeatures[] = {
    {"e4m3_convert", &Arch::e4m3_convert},
    {"programmatic_launch", &Arch::programmatic_launch},
};

// Names of boards and chips as people type them, after simplified().
constexpr struct {
  std::string_view alias;
  std::string_view name;
} kAliases[] = {
    {"a100", "sm_80"},   {"a800", "sm_80"},    {"a30", "sm_80"},    {"a10", "sm_86"},
    {"a40", "sm_86"},    {"a6000", "sm_86"},   {"3090", "sm_86"},   {"l4", "sm_89"},
    {"l40", "sm_89"},    {"l40s", "sm_89"},    {"4090", "sm_89"},   {"6000ada", "sm_89"},
    {"h100", "sm_90a"},  {"h200", "sm_90a"},   {"h800", "sm_90a"},  {"h20", "sm_90a"},
    {"gh200", "sm_90a"}, {"b100", "sm_100a"},  {"b200", "sm_100a"}, {"gb200", "sm_100a"},
    {"b300", "sm_103a"}, {"gb300", "sm_103a"}, {"5090", "sm_120a"}, {"pro6000", "sm_120a"},
    {"gb10", "sm_121a"}, {"spark", "sm_121a"},
};

// Lower case, letters and digits only, without the words that add nothing: "RTX 4090" -> "4090",
// "sm_90a" -> "90a".
std::string simplified(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
  }
  for (const std::string_view word : {"nvidia", "geforce", "rtx", "dgx", "sm", "compute"}) {
    if (text.starts_with(word)) text.erase(0, word.size());
  }
  return text;
}

std::string number_of(const Arch& arch) { return fmt::format("{}{}", arch.major, arch.minor); }

}  // namespace

std::span<const ArchFeature> arch_features() { return kFeatures; }

std::span<const Arch> archs() { return kArchs; }

const Arch& arch_by_name(std::string_view name) {
  const std::string text = simplified(name);
  std::string_view wanted;
  for (const auto& row : kAliases) {
    if (row.alias == text) wanted = row.name;
  }
  std::string names;
  for (const Arch& arch : kArchs) {
    const std::string number = number_of(arch);
    if (wanted == arch.name || text == number || (arch.exact() && text == number + 'a'))
      return arch;
    names += names.empty() ? "" : ", ";
    names += arch.name;
  }
  fail(
      Status::invalid_argument,
      "unknown architecture '{}': expected one of {}, a number such as 90, or a board such as h200",
      name, names);
}

std::vector<const Arch*> loadable_archs(int major, int minor) {
  std::vector<const Arch*> found;
  for (const Arch& arch : kArchs) {
    const bool same_chip = arch.major == major && arch.minor == minor;
    const bool older_minor = arch.major == major && arch.minor <= minor && !arch.exact();
    if (same_chip || older_minor) found.push_back(&arch);
  }
  std::sort(found.begin(), found.end(),
            [](const Arch* a, const Arch* b) { return a->minor > b->minor; });
  return found;
}

}  // namespace qrow
