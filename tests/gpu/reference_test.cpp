// The yardstick itself: the reference kernel against straight loops on the host, the fill kernels
// against their contract.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "templates/common/dtype.cuh"
#include "tests/gpu/gpu.hpp"

namespace qrow {
namespace {

// Relative L2 of two lists; NaN must meet NaN.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

// -inf must meet -inf.
double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return worst;
}

constexpr const char* kSmallCases[] = {
    "heads=4/2 rows=3 page=4 lse=e batch=4 len=0,1,2,9",
    "heads=6/2 d=64 rows=2 page=7 kv=e4m3 lse=2 batch=2 len=40,13",
    "heads=6/3 d=64 rows=2 page=5 kv=e4m3 scale=head layout=hnd batch=2 len=40,13",
    "heads=4/1 d=256 page=1 q=f16 layout=hnd batch=3 len=33,1,7",
    "heads=2/2 d=80 rows=4 page=16 kv=f16 batch=2 len=3,50",
    "heads=8/1 d=192/128 rows=2 page=16 batch=2 len=17,5",
    "heads=4/2 d=64 rows=3 page=16 mask=none kv=e5m2 batch=2 len=17,5",
    "heads=4/2 d=64 rows=3 page=16 kv=int8 scale=tensor batch=2 len=17,5",
};

}  // namespace

TEST_CASE("the reference kernel agrees with straight loops on the host") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for (const char* line : kSmallCases) {
    INFO(std::string(line));
    const Case c = prepared(*gpu, line);
    CaseData data(gpu->device, c);
    const ReferenceResult device = compute_reference(gpu->device, c.spec, data.args());
    const CaseData::HostCopy copy = data.download();
    const ReferenceResult host = host_reference(c.spec, copy.args);
    CHECK(device.out.size() == host.out.size());
    CHECK(distance(device.out, host.out) < 1e-12);
    CHECK(device.lse.size() == host.lse.size());
    CHECK(worst_difference(device.lse, host.lse) < 1e-5);
  }
}

TEST_CASE("the reference kernel gives NaN rows for a request above max_kv_len, as the host does") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=4/2 d=64 rows=2 page=4 batch=3 len=5,20,6");
  CaseData data(gpu->device, c);
  qrow_args args = data.args();
  args.max_kv_len = 10;
  CaseData::HostCopy copy = data.download();
  copy.args.max_kv_len = 10;
  const ReferenceResult device = compute_reference(gpu->device, c.spec, args);
  const ReferenceResult host = host_reference(c.spec, copy.args);
  const std::size_t per_request = device.out.size() / 3;
  CHECK(std::isnan(device.out[per_request]));
  CHECK(std::isnan(host.out[per_request]));
  CHECK_FALSE(std::isnan(device.out[0]));
  CHECK(distance(device.out, host.out) < 1e-12);
}

TEST_CASE("synthetic values are standard normal, finite and the same every time") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  constexpr std::size_t kCount = 1 << 20;
  for (const DType type :
       {DType::bf16, DType::f16, DType::f32, DType::e4m3, DType::e5m2, DType::int8}) {
    const int dtype = static_cast<int>(type);
    INFO(std::string(dtype_word(dtype)));
    const std::size_t width = static_cast<std::size_t>(size_of(type));
    const float factor = type == DType::int8 ? 20.0f : 3.0f;
    std::vector<unsigned char> values[2];
    for (std::vector<unsigned char>& bytes : values) {
      DeviceBuffer buffer(gpu->device.driver(), kCount * width);
      gpu->device.fill_normal(dtype, buffer.as(), kCount, 5, factor);
      gpu->device.synchronize();
      bytes.resize(buffer.size());
      buffer.read(bytes.data(), bytes.size());
    }
    CHECK(values[0] == values[1]);
    double sum = 0, squares = 0;
    bool finite = true;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double value = stored_number(values[0].data() + i * width, dtype) / factor;
      finite = finite && std::isfinite(value);
      sum += value;
      squares += value * value;
    }
    CHECK(finite);
    CHECK(std::abs(sum / kCount) < 0.005);
    CHECK(std::abs(std::sqrt(squares / kCount) - 1) < 0.01);
  }
}

TEST_CASE("synthetic values beyond a format's range saturate") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  constexpr std::size_t kCount = 4096;
  for (const DType type : {DType::f16, DType::e4m3, DType::e5m2}) {
    const int dtype = static_cast<int>(type);
    INFO(std::string(dtype_word(dtype)));
    const std::size_t width = static_cast<std::size_t>(size_of(type));
    DeviceBuffer buffer(gpu->device.driver(), kCount * width);
    gpu->device.fill_normal(dtype, buffer.as(), kCount, 5, 1e12f);
    gpu->device.synchronize();
    std::vector<unsigned char> bytes(buffer.size());
    buffer.read(bytes.data(), bytes.size());
    const double largest = type == DType::f16 ? 65504 : type == DType::e4m3 ? 448 : 57344;
    std::size_t saturated = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      saturated += std::abs(stored_number(bytes.data() + i * width, dtype)) == largest ? 1 : 0;
    }
    CHECK(saturated == kCount);
  }
}

}  // namespace qrow
