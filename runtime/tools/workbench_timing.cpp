#include "runtime/tools/workbench_timing.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "templates/common/dtype.cuh"
#include "templates/families.hpp"
#include "templates/read_ceiling/params.cuh"

namespace qrow {

CapturedGraph::CapturedGraph(const WorkbenchDevice& device, const std::function<void()>& enqueue)
    : device_(device) {
  const Driver& driver = device.driver();
  driver.check(
      driver->cuStreamBeginCapture_v2(device.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture_v2");
  try {
    enqueue();
  } catch (...) {
    driver->cuStreamEndCapture(device.stream(), &graph_);
    if (graph_ != nullptr) driver->cuGraphDestroy(graph_);
    throw;
  }
  driver.check(driver->cuStreamEndCapture(device.stream(), &graph_), "cuStreamEndCapture");
  driver.check(driver->cuGraphInstantiateWithFlags(&exec_, graph_, 0),
               "cuGraphInstantiateWithFlags");
  driver.check(driver->cuEventCreate(&begin_, CU_EVENT_DEFAULT), "cuEventCreate");
  driver.check(driver->cuEventCreate(&end_, CU_EVENT_DEFAULT), "cuEventCreate");
}

CapturedGraph::~CapturedGraph() {
  const Driver& driver = device_.driver();
  if (end_ != nullptr) driver->cuEventDestroy_v2(end_);
  if (begin_ != nullptr) driver->cuEventDestroy_v2(begin_);
  if (exec_ != nullptr) driver->cuGraphExecDestroy(exec_);
  if (graph_ != nullptr) driver->cuGraphDestroy(graph_);
}

void CapturedGraph::replay() const {
  device_.driver().check(device_.driver()->cuGraphLaunch(exec_, device_.stream()), "cuGraphLaunch");
}

double CapturedGraph::replay_milliseconds() const {
  const Driver& driver = device_.driver();
  driver.check(driver->cuEventRecord(begin_, device_.stream()), "cuEventRecord");
  replay();
  driver.check(driver->cuEventRecord(end_, device_.stream()), "cuEventRecord");
  driver.check(driver->cuEventSynchronize(end_), "cuEventSynchronize");
  float milliseconds = 0;
  driver.check(driver->cuEventElapsedTime(&milliseconds, begin_, end_), "cuEventElapsedTime");
  return milliseconds;
}

int num_rotating_sets(long long bytes_per_set, long long l2_bytes) {
  constexpr long long kLargeEnoughAlone = 600ll << 20;
  constexpr long long kMostSets = 64;  // of tiny cases, whose data then stays in L2 in part
  if (bytes_per_set >= kLargeEnoughAlone) return 1;
  const long long sets = 2 * l2_bytes / std::max(bytes_per_set, 1ll) + 2;
  return static_cast<int>(std::clamp(sets, 2ll, kMostSets));
}

int calls_per_graph(int num_sets) { return (kCallsPerGraph + num_sets - 1) / num_sets * num_sets; }

double median_call_microseconds(const WorkbenchDevice& device, int num_calls, int replays,
                                const std::function<void(int)>& enqueue) {
  const CapturedGraph graph(device, [&] {
    for (int i = 0; i < num_calls; ++i) enqueue(i);
  });
  // The first replay uploads the graph; the clocks take some milliseconds of work to rise.
  constexpr double kWarmUpMilliseconds = 10;
  graph.replay_milliseconds();
  for (double spent = 0, last = 1; spent < kWarmUpMilliseconds && last > 0; spent += last)
    last = graph.replay_milliseconds();
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(graph.replay_milliseconds() * 1000 / num_calls);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

namespace {

// From 32 to 192 KB in flight per SM, one to four blocks: what pays differs with the number of
// bytes.
constexpr const char* kReadTunings[] = {
    "num_warps:4,vectors_per_thread:4,num_stages:4,blocks_per_sm:2",
    "num_warps:4,vectors_per_thread:4,num_stages:4,blocks_per_sm:4",
    "num_warps:8,vectors_per_thread:4,num_stages:3,blocks_per_sm:2",
    "num_warps:8,vectors_per_thread:4,num_stages:3,blocks_per_sm:4",
    "num_warps:8,vectors_per_thread:4,num_stages:4,blocks_per_sm:1",
    "num_warps:4,vectors_per_thread:4,num_stages:6,blocks_per_sm:3",
};

}  // namespace

double ReadCeiling::measure(long long bytes) {
  const int num_sets = num_rotating_sets(bytes, device_.info().l2_bytes);
  const long long stride = (bytes + 255) / 256 * 256;
  if (static_cast<std::size_t>(stride * num_sets) > device_.free_bytes() / 10 * 9) return 0;
  DeviceBuffer data(device_.driver(), static_cast<std::size_t>(stride * num_sets));
  DeviceBuffer sink(device_.driver(), sizeof(unsigned));
  device_.fill_normal(static_cast<int>(DType::bf16), data.as(),
                      static_cast<unsigned long long>(stride * num_sets / 2), 1, 1.0f);
  device_.synchronize();

  const Family& family = *family_by_name("read_ceiling");
  double best = 0;
  for (const char* text : kReadTunings) {
    const Tuning tuning = parse_tuning(family, text, family.default_tuning({}, device_.arch(), {}));
    if (!family.legal({}, tuning, device_.arch())) continue;
    const Variant variant = family.variant({}, tuning, device_.arch());
    device_.prepare(variant);
    const int blocks =
        device_.info().num_sms * family.geometry({}, tuning, device_.arch()).blocks_per_sm;
    ReadCeilingParams params{};
    params.bytes = static_cast<unsigned long long>(bytes / 16 * 16);
    params.sink = sink.as<unsigned>();
    params.sink_value = 0x9e3779b9u;
    const double us =
        median_call_microseconds(device_, calls_per_graph(num_sets), kReplays, [&](int call) {
          params.data = data.as<const char>() + stride * (call % num_sets);
          device_.launch(variant, static_cast<unsigned>(blocks), &params);
        });
    best = std::max(best, static_cast<double>(bytes) / us / 1000);
  }
  return best;
}

double ReadCeiling::gbps(long long bytes) {
  const auto [found, is_new] = measured_.try_emplace(bytes, 0.0);
  if (is_new) found->second = measure(bytes);
  return found->second;
}

}  // namespace qrow
