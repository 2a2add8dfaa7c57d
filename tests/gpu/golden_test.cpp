// Single instructions and whole cases against the record of an H200. The last case makes the
// record, in the file that QROW_WRITE_GOLDEN names; scripts/gpu_check --steps record runs it.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "templates/common/dtype.cuh"
#include "templates/probe/family.hpp"
#include "templates/probe/params.cuh"
#include "tests/gpu/golden.hpp"
#include "tests/gpu/gpu.hpp"

namespace qrow {
namespace {

constexpr const char* kGolden = "tests/golden/h200.record";

constexpr const char* kCases[] = {
    "heads=8/2 rows=2 out=f32 batch=2 len=300,17",
    "heads=8/2 rows=2 kv=e4m3 out=f32 batch=2 len=300,17",
    "heads=8/2 rows=2 q=f16 kv=f16 page=7 out=f32 batch=2 len=130,65",
    "heads=8/2 rows=2 q=f16 kv=bf16 out=f32 batch=2 len=130,65",
    "heads=12/2 d=256 rows=2 kv=e4m3 page=1 out=f32 batch=1 len=200 splits=3",
    "heads=6/1 d=64 rows=8 kv=e4m3 scale=head out=f32 lse=e batch=2 len=90,1000",
};

// Sums of 16 products: the hardware drops bits below the largest term's 2^-23 or so while it adds.
constexpr double kMmaTolerance = 0x1p-22;  // times the sum of the terms' sizes
constexpr double kApproxTolerance = 0x1p-22;
constexpr double kCaseTolerance = 1e-5;  // relative L2 of an output; 1.4e-6 was seen

Words run_probe(Gpu& gpu, const Probe& probe) {
  const std::size_t lanes = probe.in.size() / static_cast<std::size_t>(words_in(probe.operation));
  Words out(lanes * static_cast<std::size_t>(words_out(probe.operation)));
  DeviceBuffer in_buffer(gpu.device.driver(), probe.in.size() * 4);
  DeviceBuffer out_buffer(gpu.device.driver(), out.size() * 4);
  in_buffer.write(probe.in.data(), in_buffer.size());
  out_buffer.fill(0);
  gpu.device.synchronize();
  ProbeParams params{in_buffer.as<const unsigned>(), out_buffer.as<unsigned>(),
                     static_cast<int>(lanes)};
  gpu.device.launch(probe_variant(probe.operation, gpu.device.arch()),
                    static_cast<unsigned>((lanes + 31) / 32), &params);
  gpu.device.synchronize();
  out_buffer.read(out.data(), out_buffer.size());
  return out;
}

Words run_case(Gpu& gpu, const char* line) {
  const Case c = prepared(gpu, line);
  CaseData data(gpu.device, c);
  const ApiPlan plan(gpu.context, c);
  const DeviceBuffer workspace = make_poisoned_workspace(
      gpu.device.driver(), plan.workspace_bytes(c.batch, data.args().max_kv_len));
  plan.run(data.args(), workspace, gpu.device.stream());
  gpu.device.synchronize();
  Words out(data.out().size() / 4);
  data.out().read(out.data(), data.out().size());
  return out;
}

float as_float(std::uint32_t word) {
  float f;
  std::memcpy(&f, &word, sizeof f);
  return f;
}

// Relative, or absolute where the values are below `floor`.
double worst_approx(const Words& found, const Words& wanted, double floor) {
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double a = as_float(found[i]), b = as_float(wanted[i]);
    if (found[i] == wanted[i] || (std::isnan(a) && std::isnan(b))) continue;
    worst = std::max(worst, std::abs(a - b) / std::max(std::abs(b), floor));
  }
  return worst;
}

double element(std::uint32_t pair, bool high, bool bf16) {
  const std::uint32_t half = high ? pair >> 16 : pair & 0xffffu;
  return stored_number(&half, static_cast<int>(bf16 ? DType::bf16 : DType::f16));
}

// The size of the terms of output `i` of a lane: what rounding while adding is measured by.
double size_of_terms(const Words& in, std::size_t lane, int i, bool bf16) {
  const std::size_t warp = lane / 32 * 32, g = lane % 32 / 4, t = lane % 4;
  const std::size_t column = 2 * t + static_cast<std::size_t>(i % 2);
  double size = std::abs(as_float(in[lane * 10 + 6 + static_cast<std::size_t>(i)]));
  for (std::size_t k = 0; k < 16; ++k) {
    const std::size_t k8 = k / 8, pair = k % 8 / 2;
    const std::size_t row_lane = warp + 4 * g + pair, column_lane = warp + 4 * column + pair;
    const std::size_t a_word = 2 * k8 + static_cast<std::size_t>(i / 2);
    size += std::abs(element(in[row_lane * 10 + a_word], k % 2, bf16) *
                     element(in[column_lane * 10 + 4 + k8], k % 2, bf16));
  }
  return size;
}

double worst_mma(const Probe& probe, const Words& found, const Words& wanted) {
  double worst = 0;
  for (std::size_t word = 0; word < wanted.size(); ++word) {
    const double size = size_of_terms(probe.in, word / 4, static_cast<int>(word % 4),
                                      probe.operation == ProbeOperation::mma_bf16);
    worst = std::max(worst, std::abs(static_cast<double>(as_float(found[word])) -
                                     static_cast<double>(as_float(wanted[word]))) /
                                size);
  }
  return worst;
}

double distance(const Words& found, const Words& wanted) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double a = as_float(found[i]), b = as_float(wanted[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  return std::sqrt(difference / size);
}

void check_probe(Gpu& gpu, const Probe& probe, const Words& wanted) {
  const Words found = run_probe(gpu, probe);
  INFO(std::string(probe.name));
  if (probe.exact) {
    CHECK(digest_words(found) == wanted);
    return;
  }
  REQUIRE(found.size() == wanted.size());
  const bool is_mma =
      probe.operation == ProbeOperation::mma_bf16 || probe.operation == ProbeOperation::mma_f16;
  // lg2 is exact to an absolute bound around 1.
  const double floor = probe.operation == ProbeOperation::log2_approx ? 1.0 : 1e-37;
  const double worst =
      is_mma ? worst_mma(probe, found, wanted) : worst_approx(found, wanted, floor);
  MESSAGE(std::string(probe.name), ": off by at most ", worst);
  CHECK(worst <= (is_mma ? kMmaTolerance : kApproxTolerance));
}

const Words& section(const std::vector<GoldenSection>& sections, const std::string& name) {
  for (const GoldenSection& one : sections)
    if (one.name == name) return one.words;
  FAIL("the record has no section ", name);
  return sections.front().words;
}

}  // namespace

TEST_CASE("single instructions give what an H200 gave") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::vector<GoldenSection> golden = read_golden(kGolden);
  for (const Probe& probe : probes()) check_probe(*gpu, probe, section(golden, probe.name));
}

TEST_CASE("cases give what an H200 gave, within rounding") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::vector<GoldenSection> golden = read_golden(kGolden);
  for (const char* line : kCases) {
    const double off = distance(run_case(*gpu, line), section(golden, line));
    MESSAGE(std::string(line), ": off by ", off);
    CHECK(off <= kCaseTolerance);
  }
}

TEST_CASE("the record of a device is written" * doctest::skip()) {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const char* path = std::getenv("QROW_WRITE_GOLDEN");
  REQUIRE(path != nullptr);
  std::vector<GoldenSection> sections;
  for (const Probe& probe : probes()) {
    const Words out = run_probe(*gpu, probe);
    sections.push_back({probe.name, probe.exact ? digest_words(out) : out});
  }
  for (const char* line : kCases) sections.push_back({line, run_case(*gpu, line)});
  write_golden(path, sections);
  CHECK(read_golden(path).size() == sections.size());
}

}  // namespace qrow
