// Case lines on the CPU against float64, in random order, with no fault of the emulator's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "runtime/tools/workbench_cases.hpp"
#include "tests/emulator/emulated.hpp"

namespace qrow {
namespace {

bool is_full() {
  const char* full = std::getenv("QROW_TEST_FULL");
  return full != nullptr && std::string(full) == "1";
}

// QROW_TEST_SEED repeats a run.
unsigned long long seed_of_run() {
  const char* given = std::getenv("QROW_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Multiplications by the matrix unit, about: what a case costs here.
double work_of(const Case& c) {
  double tokens = 0;
  for (const int len : expand_lens(c)) tokens += len;
  const int columns = (c.spec.max_rows * c.spec.group() + 7) / 8 * 8;
  return tokens * c.spec.num_kv_heads * c.spec.head_dim * columns;
}
constexpr double kMostWork = 4e7;

std::vector<Case> affordable(std::vector<Case> cases) {
  if (!is_full()) std::erase_if(cases, [](const Case& c) { return work_of(c) > kMostWork; });
  return cases;
}

void check_all(Emulated& device, std::vector<Case> cases) {
  const unsigned long long seed = seed_of_run();
  std::mt19937_64 random(seed);
  std::shuffle(cases.begin(), cases.end(), random);
  MESSAGE("QROW_TEST_SEED=", seed, ", ", cases.size(), " cases, ", device.build(cases).compiled,
          " kernels compiled");
  REQUIRE_FALSE(cases.empty());
  for (const Case& c : cases) {
    // Every other case with threads out of turn and copies that land when they like.
    const bool disturbed = random() % 2 == 0;
    fake_cuda::fake_cuda_schedule(disturbed ? random() | 1 : 0, disturbed);
    const std::string line = format_case(c);
    const std::string wrong = device.check(c);
    CHECK_MESSAGE(wrong == "", line, ": ", wrong);
    const std::string faults = Emulated::take_report().text();
    CHECK_MESSAGE(faults == "", line, ": ", faults);
  }
}

void check_file(const char* file) {
  Emulated device;
  check_all(device, affordable(read_case_file(std::string("tests/cases/") + file)));
}

// What every arch must be able to do: each head dimension, KV type, Q type, scale kind and edge.
std::vector<Case> arch_cases() {
  std::vector<Case> cases;
  for (const char* line : {
           "heads=16/2 rows=4 kv=e4m3 out=f32 lse=e batch=3 len=130,0,77",
           "heads=8/2 d=64 rows=3 page=7 kv=e4m3 q=f16 out=f32 scale=head batch=3 len=70,13,1",
           "heads=12/2 d=256 rows=2 page=16 out=f32 batch=2 len=90,33",
           "heads=5/1 rows=8 page=1 kv=f16 q=f16 out=f16 lse=2 batch=3 len=8,65,200",
           "heads=8/8 d=64 q=f16 kv=bf16 layout=hnd out=f32 batch=2 len=257,3",
           "heads=6/1 rows=16 kv=e4m3 out=bf16 batch=2 len=50,300 splits=3",
       }) {
    cases.push_back(parse_case(line));
  }
  return cases;
}

void check_arch(int major, int minor, int num_sms) {
  fake_cuda::Machine machine;
  machine.major = major;
  machine.minor = minor;
  machine.num_sms = num_sms;
  Emulated device(machine);
  check_all(device, arch_cases());
}

}  // namespace

TEST_CASE("data types and scales agree with float64 on the CPU") { check_file("dtypes.case"); }
TEST_CASE("page sizes, layouts and lengths at the edges agree with float64 on the CPU") {
  check_file("paging.case");
}
TEST_CASE("groups, rows and head dimensions agree with float64 on the CPU") {
  check_file("shapes.case");
}
TEST_CASE("forced splits agree with float64 on the CPU") { check_file("splits.case"); }

// Few blocks make long shares with many units, many blocks make many partial results.
TEST_CASE("sm_80 converts e4m3 without the instruction, 3 blocks") { check_arch(8, 0, 3); }
TEST_CASE("sm_89 has no programmatic launch, 7 blocks") { check_arch(8, 9, 7); }
TEST_CASE("sm_90a with 1 block") { check_arch(9, 0, 1); }
TEST_CASE("sm_120a with 200 blocks") { check_arch(12, 0, 200); }

}  // namespace qrow
