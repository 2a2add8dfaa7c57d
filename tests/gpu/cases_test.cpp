// Every case line under tests/cases against float64, one test per file, so that a new file is a new
// row here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/gpu/gpu.hpp"

namespace qrow {
namespace {

constexpr const char* kFolder = "tests/cases";
constexpr const char* kFiles[] = {"bench.case",  "dtypes.case", "large.case",
                                  "paging.case", "shapes.case", "splits.case"};

void check_all(const std::vector<Case>& cases) {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  REQUIRE_FALSE(cases.empty());
  for (const Case& c : cases) {
    const std::string line = format_case(c);
    const std::string wrong = check_case(*gpu, c);
    CHECK_MESSAGE(wrong == "", line, ": ", wrong);
  }
}

void check_file(const char* file) { check_all(read_case_file(std::string(kFolder) + '/' + file)); }

// Groups x rows x head_dim x KV type, whole.
std::vector<Case> wide_grid() {
  std::vector<Case> cases;
  for (const int group : {1, 4, 5, 6, 7, 8, 12, 16, 24}) {
    for (int rows = 1; rows <= 8; ++rows) {
      for (const int head_dim : {64, 128, 256}) {
        for (const char* kv : {"bf16", "f16", "e4m3"}) {
          cases.push_back(parse_case(
              fmt::format("heads={}/2 d={} rows={} kv={} out=f32 lse=e batch=2 len=1030,77",
                          2 * group, head_dim, rows, kv)));
        }
      }
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("every file of case lines has its test") {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".case") found.push_back(entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::string>(std::begin(kFiles), std::end(kFiles)));
  for (const std::string& file : found)
    CHECK_FALSE(read_case_file(std::string(kFolder) + '/' + file).empty());
}

TEST_CASE("the benchmark's cases agree with float64") { check_file("bench.case"); }
TEST_CASE("data types and scales agree with float64") { check_file("dtypes.case"); }
TEST_CASE("many units and offsets beyond 32 bits agree with float64") { check_file("large.case"); }
TEST_CASE("page sizes, layouts and lengths at the edges agree with float64") {
  check_file("paging.case");
}
TEST_CASE("groups, rows and head dimensions agree with float64") { check_file("shapes.case"); }
TEST_CASE("forced splits and long contexts agree with float64") { check_file("splits.case"); }

TEST_CASE(
    "a sample of the grid of groups, rows, head dimensions and KV types agrees with float64, all "
    "with QROW_TEST_FULL") {
  const char* full = std::getenv("QROW_TEST_FULL");
  const std::size_t step = full != nullptr && std::string(full) == "1" ? 1 : 23;
  const std::vector<Case> grid = wide_grid();
  std::vector<Case> sample;
  for (std::size_t i = 0; i < grid.size(); i += step) sample.push_back(grid[i]);
  check_all(sample);
}

}  // namespace qrow
