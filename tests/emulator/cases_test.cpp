// Case lines on the CPU against float64, in random order, with no fault of the emulator's.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
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

// One for all that a process draws; QROW_TEST_SEED repeats a run.
unsigned long long seed_of_run() {
  static const unsigned long long seed = [] {
    const char* given = std::getenv("QROW_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return seed;
}

// Multiplications by the matrix unit, about: what a case costs here.
double work_of(const Case& c) {
  double tokens = 0;
  for (const int len : expand_lens(c)) tokens += len;
  const int columns = (c.spec.max_rows * c.spec.group() + 7) / 8 * 8;
  return tokens * c.spec.num_kv_heads * c.spec.head_dim * columns;
}
constexpr double kMostWork = 2e7;

std::vector<Case> affordable(std::vector<Case> cases) {
  if (!is_full()) std::erase_if(cases, [](const Case& c) { return work_of(c) > kMostWork; });
  return cases;
}

void check_all(Emulated& device, std::vector<Case> cases) {
  const unsigned long long seed = seed_of_run();
  std::mt19937_64 random(seed);
  std::shuffle(cases.begin(), cases.end(), random);
  const int compiled = device.build(cases).compiled;
  REQUIRE_FALSE(cases.empty());
  const auto begin = std::chrono::steady_clock::now();
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
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  // scripts/test adds these up.
  std::printf("EMULATED: %d kernels compiled, %zu cases in %.1f s, QROW_TEST_SEED=%llu\n", compiled,
              cases.size(), spent.count(), seed);
}

// `part` of `parts`: a long file is shared among tests that run side by side.
void check_file(const char* file, std::size_t part = 0, std::size_t parts = 1) {
  const std::vector<Case> all = affordable(read_case_file(std::string("tests/cases/") + file));
  std::vector<Case> cases;
  for (std::size_t i = part; i < all.size(); i += parts) cases.push_back(all[i]);
  Emulated device;
  check_all(device, cases);
}

template <typename T, std::size_t kCount>
const T& drawn(const T (&values)[kCount], std::mt19937_64& random) {
  return values[random() % kCount];
}

// One point of the wide grid: what engines send, the edges of lengths and pages among them.
Case drawn_case(std::mt19937_64& random) {
  static constexpr int kPages[] = {1, 16, 32, 64, 128, 256, 528, 1072};
  static constexpr int kRows[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16};
  static constexpr int kHeadDims[] = {64, 128, 256};
  static constexpr int kSplits[] = {0, 1, 2, 7};
  static const std::string kHeads[] = {"1/1",  "6/1",  "8/1",  "12/2", "14/2", "16/2", "20/4",
                                       "24/4", "40/8", "48/2", "64/4", "64/8", "72/8", "9/3"};
  static const std::string kTypes[] = {"q=bf16 kv=bf16", "q=f16 kv=f16",  "q=f16 kv=bf16",
                                       "q=bf16 kv=e4m3", "q=f16 kv=e4m3", "kv=e4m3 scale=head"};
  static const std::string kLayouts[] = {"nhd", "hnd"};
  static const std::string kLse[] = {"off", "e", "2"};
  static const std::string kOut[] = {"f32", "bf16", "f16"};
  const int page = drawn(kPages, random);
  const int lengths[] = {0,   1,    page - 1, page, page + 1, 127,  128,
                         129, 4090, 32767,    7,    33,       1000, 250};
  const int batch = 1 + static_cast<int>(random() % 3);
  std::string lens;
  for (int i = 0; i < batch; ++i)
    lens += (i > 0 ? "," : "") + std::to_string(drawn(lengths, random));
  std::string line =
      fmt::format("heads={} d={} rows={} page={} {} layout={} lse={} out={} batch={} len={}",
                  drawn(kHeads, random), drawn(kHeadDims, random), drawn(kRows, random), page,
                  drawn(kTypes, random), drawn(kLayouts, random), drawn(kLse, random),
                  drawn(kOut, random), batch, lens);
  if (const int splits = drawn(kSplits, random); splits > 0)
    line += fmt::format(" splits={}", splits);
  return parse_case(line);
}

// 8 cases in all; 400, and larger ones, with --full.
void check_drawn(unsigned quarter) {
  std::mt19937_64 random(seed_of_run() + quarter);
  const double most_work = is_full() ? 40 * kMostWork : kMostWork / 4;
  std::vector<Case> cases;
  while (cases.size() < (is_full() ? 100 : 2)) {
    const Case c = drawn_case(random);
    if (work_of(c) <= most_work) cases.push_back(c);
  }
  fake_cuda::Machine machine;
  machine.num_sms = 1 + static_cast<int>(random() % 150);
  Emulated device(machine);
  check_all(device, cases);
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
TEST_CASE("groups, rows and head dimensions agree with float64 on the CPU, one half") {
  check_file("shapes.case", 0, 2);
}
TEST_CASE("groups, rows and head dimensions agree with float64 on the CPU, the other half") {
  check_file("shapes.case", 1, 2);
}
TEST_CASE("forced splits agree with float64 on the CPU") { check_file("splits.case"); }

TEST_CASE("cases drawn from the wide grid agree with float64 on the CPU: first quarter") {
  check_drawn(0);
}
TEST_CASE("cases drawn from the wide grid agree with float64 on the CPU: second quarter") {
  check_drawn(1);
}
TEST_CASE("cases drawn from the wide grid agree with float64 on the CPU: third quarter") {
  check_drawn(2);
}
TEST_CASE("cases drawn from the wide grid agree with float64 on the CPU: last quarter") {
  check_drawn(3);
}

// Few blocks make long shares with many units, many blocks make many partial results.
TEST_CASE("sm_80 converts e4m3 without the instruction, 3 blocks") { check_arch(8, 0, 3); }
TEST_CASE("sm_89 has no programmatic launch, 7 blocks") { check_arch(8, 9, 7); }
TEST_CASE("sm_90a with 1 block") { check_arch(9, 0, 1); }
TEST_CASE("sm_120a with 200 blocks") { check_arch(12, 0, 200); }

}  // namespace qrow
