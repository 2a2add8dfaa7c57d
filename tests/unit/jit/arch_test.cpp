#include "jit/arch.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

std::vector<std::string> names_loadable_on(int major, int minor) {
  std::vector<std::string> names;
  for (const Arch* arch : loadable_archs(major, minor)) names.push_back(arch->name);
  return names;
}

}  // namespace

TEST_CASE("Every architecture is found by its name, its number and its dotted number") {
  for (const Arch& arch : archs()) {
    CHECK(&arch_by_name(arch.name) == &arch);
    CHECK(&arch_by_name(fmt::format("{}{}", arch.major, arch.minor)) == &arch);
    CHECK(&arch_by_name(fmt::format("{}.{}", arch.major, arch.minor)) == &arch);
    CHECK(&arch_by_name(fmt::format("SM_{}{}", arch.major, arch.minor)) == &arch);
    CHECK(&arch_by_name(fmt::format("compute_{}{}", arch.major, arch.minor)) == &arch);
  }
}

TEST_CASE("Boards are aliases of their architecture") {
  const struct {
    const char* typed;
    const char* name;
  } rows[] = {{"h200", "sm_90a"},
              {"H100", "sm_90a"},
              {"NVIDIA H200", "sm_90a"},
              {"90a", "sm_90a"},
              {"sm_90", "sm_90a"},
              {"b200", "sm_100a"},
              {"GB300", "sm_103a"},
              {"a100", "sm_80"},
              {"RTX 4090", "sm_89"},
              {"4090", "sm_89"},
              {"GeForce RTX 5090", "sm_120a"},
              {"L40S", "sm_89"},
              {"DGX Spark", "sm_121a"},
              {"rtx-3090", "sm_86"}};
  for (const auto& row : rows)
    CHECK_MESSAGE(std::string(arch_by_name(row.typed).name) == row.name, row.typed);
}

TEST_CASE("An unknown architecture is named, and what is legal is listed") {
  for (const char* name : {"sm_75", "", "sm_80a", "90b", "h300", "sm_"}) {
    try {
      arch_by_name(name);
      FAIL("accepted " << name);
    } catch (const Error& error) {
      CHECK(error.status() == Status::invalid_argument);
      const std::string text = error.what();
      CHECK(text.find(fmt::format("'{}'", name)) != std::string::npos);
      CHECK(text.find("sm_80, sm_86, sm_89, sm_90a") != std::string::npos);
    }
  }
}

TEST_CASE(
    "A device loads its own chip's cubins and those of older chips of its generation, best first") {
  using Names = std::vector<std::string>;
  CHECK(names_loadable_on(8, 0) == Names{"sm_80"});
  CHECK(names_loadable_on(8, 7) == Names{"sm_86", "sm_80"});
  CHECK(names_loadable_on(8, 9) == Names{"sm_89", "sm_86", "sm_80"});
  CHECK(names_loadable_on(9, 0) == Names{"sm_90a"});
  CHECK(names_loadable_on(10, 3) == Names{"sm_103a"});
  CHECK(names_loadable_on(12, 1) == Names{"sm_121a"});
  CHECK(names_loadable_on(7, 5).empty());
  CHECK(names_loadable_on(11, 0).empty());
}

TEST_CASE("The limits of the table make sense") {
  for (const Arch& arch : archs()) {
    CHECK(arch.smem_per_block_bytes + 1024 == arch.smem_per_sm_bytes);
    CHECK(arch.warps_per_sm >= 48);
    for (const ArchFeature& feature : arch_features())
      CHECK((arch.*feature.value == 0 || arch.*feature.value == 1));
  }
}

}  // namespace qrow
