// Stream capture, replay and several streams.
#include <doctest/doctest.h>

#include <string>

#include "runtime/tools/workbench_timing.hpp"
#include "tests/gpu/gpu.hpp"

namespace qrow {
namespace {

std::string compare_now(Gpu& gpu, const CaseData& data) {
  const Spec& spec = data.description().spec;
  return judge(compare(gpu.device, data, compute_reference(gpu.device, spec, data.args())),
               error_limits(spec));
}

}  // namespace

TEST_CASE(
    "a graph captured at length 1 is right at other lengths, long and empty ones among them") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for (const char* line : {"heads=16/2 rows=4 out=f32 lse=e batch=4 len=30000,1200,64,7",
                           "heads=8/1 d=256 rows=8 kv=e4m3 out=f32 batch=2 len=144000,5000",
                           "heads=8/2 rows=2 out=f32 batch=4 len=3000,1200,64,7 splits=7"}) {
    INFO(std::string(line));
    const Case c = parse_case(line);
    CaseData data(gpu->device, c);
    const ApiPlan plan(gpu->context, c);
    const qrow_args args = data.args();
    const DeviceBuffer workspace = make_poisoned_workspace(
        gpu->device.driver(), plan.workspace_bytes(args.batch, args.max_kv_len));
    data.write_lens(std::vector<int>(data.lens().size(), 1));
    const CapturedGraph graph(gpu->device,
                              [&] { plan.run(args, workspace, gpu->device.stream()); });

    std::vector<int> halves = data.lens(), some_empty = data.lens();
    for (int& len : halves) len = len / 2 + 1;
    some_empty.back() = 0;
    const std::vector<int> ones(data.lens().size(), 1);
    for (const std::vector<int>& lens : {data.lens(), ones, halves, some_empty, data.lens()}) {
      data.write_lens(lens);
      data.poison_output();
      graph.replay();
      CHECK(compare_now(*gpu, data) == "");
    }
  }
}

TEST_CASE(
    "first use under capture is NOT_CACHED with a line to type, and the capture survives it") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case ready_case = parse_case("heads=8/2 rows=2 out=f32 batch=3 len=2000,40,0");
  const Case cold_case = parse_case("heads=10/2 rows=3 page=48 out=f32 batch=3 len=2000,40,1");
  const ApiContext context(0, gpu_test_options());  // that has loaded nothing
  const ApiPlan plan(context, ready_case);
  CaseData ready(gpu->device, ready_case), cold(gpu->device, cold_case);
  const DeviceBuffer workspace =
      make_poisoned_workspace(gpu->device.driver(), plan.workspace_bytes(3, 2000));
  const ApiCase api(cold_case);
  const qrow_args ready_args = ready.args(), cold_args = cold.args();
  std::size_t bytes = 0;
  check_api(qrow_workspace_bytes(context.get(), &api.spec, 3, 2000, &bytes));
  const DeviceBuffer cold_workspace = make_poisoned_workspace(gpu->device.driver(), bytes);

  qrow_status status = QROW_STATUS_OK;
  std::string text;
  const CapturedGraph graph(gpu->device, [&] {
    status = qrow_decode(context.get(), &api.spec, &cold_args, cold_workspace.as(), bytes,
                         gpu->device.stream());
    text = qrow_last_error();
    plan.run(ready_args, workspace, gpu->device.stream());
  });
  CHECK(status == QROW_STATUS_NOT_CACHED);
  CHECK_MESSAGE(text.find("prewarm") != std::string::npos, text);
  graph.replay();
  CHECK(compare_now(*gpu, ready) == "");

  check_api(qrow_decode(context.get(), &api.spec, &cold_args, cold_workspace.as(), bytes,
                        gpu->device.stream()));
  CHECK(compare_now(*gpu, cold) == "");
}

TEST_CASE("a thousand replays give what one gives") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = parse_case("heads=16/2 rows=4 kv=e4m3 out=f32 batch=4 len=3000,1200,64,7");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  const qrow_args args = data.args();
  const DeviceBuffer workspace =
      make_poisoned_workspace(gpu->device.driver(), plan.workspace_bytes(4, 3000));
  const CapturedGraph graph(gpu->device, [&] { plan.run(args, workspace, gpu->device.stream()); });
  for (int i = 0; i < 1000; ++i) graph.replay();
  gpu->device.synchronize();
  data.poison_output();
  graph.replay();
  CHECK(compare_now(*gpu, data) == "");
}

TEST_CASE(
    "back-to-back calls on one stream share a workspace, calls on two streams have their own") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case cases[] = {parse_case("heads=16/2 rows=4 out=f32 batch=4 len=9000,1200,64,7"),
                        parse_case("heads=8/1 rows=8 kv=e4m3 out=f32 batch=2 len=12000,5000")};
  const Stream second(gpu->device.driver());
  const CUstream streams[] = {gpu->device.stream(), second.get()};
  CaseData data[] = {{gpu->device, cases[0]}, {gpu->device, cases[1]}};
  const ApiPlan plans[] = {{gpu->context, cases[0]}, {gpu->context, cases[1]}};
  DeviceBuffer workspaces[2];
  for (int i = 0; i < 2; ++i) {
    const qrow_args args = data[i].args();
    workspaces[i] = make_poisoned_workspace(gpu->device.driver(),
                                            plans[i].workspace_bytes(args.batch, args.max_kv_len));
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 2; ++i) plans[i].run(data[i].args(), workspaces[i], streams[i]);
  }
  for (int i = 0; i < 2; ++i) CHECK(compare_now(*gpu, data[i]) == "");
}

}  // namespace qrow
