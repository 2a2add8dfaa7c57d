// Timing as in the published comparisons: a CUDA graph of calls over rotating data larger than L2,
// median of replays; and the device's read ceiling by the same method.
#pragma once

#include <functional>
#include <map>

#include "runtime/tools/workbench_device.hpp"

namespace qrow {

// What was enqueued on the device's stream under capture, ready to replay. Move-only by being
// immovable: make it in place.
class CapturedGraph {
 public:
  // Calls `enqueue` with the stream capturing; if it throws, the capture is ended first.
  CapturedGraph(const WorkbenchDevice& device, const std::function<void()>& enqueue);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void replay() const;                 // enqueues
  double replay_milliseconds() const;  // between two events around a replay; waits

 private:
  const WorkbenchDevice& device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

inline constexpr int kCallsPerGraph = 12;
inline constexpr int kReplays = 9;

// Data sets that a graph's calls rotate over: enough that together they are more than twice L2.
int num_rotating_sets(long long bytes_per_set, long long l2_bytes);
// Calls in a graph over that many sets: a whole number of rounds, at least kCallsPerGraph.
int calls_per_graph(int num_sets);

// Median microseconds of one call; `enqueue(i)` enqueues the i-th call of the graph.
double median_call_microseconds(const WorkbenchDevice& device, int num_calls, int replays,
                                const std::function<void(int)>& enqueue);

// The fastest of the read kernels over a number of bytes, in bytes per microsecond * 1000 = GB/s.
// Remembers what it measured.
class ReadCeiling {
 public:
  explicit ReadCeiling(WorkbenchDevice& device) : device_(device) {}
  // 0 where the device has no memory left for it.
  double gbps(long long bytes);

 private:
  double measure(long long bytes);
  WorkbenchDevice& device_;
  std::map<long long, double> measured_;
};

}  // namespace qrow
