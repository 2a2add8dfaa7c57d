// The contracts at the edges of a call that a case line cannot say.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/gpu/gpu.hpp"

namespace qrow {
namespace {

// The output's bytes after a run on `workspace`.
std::vector<unsigned char> run_bytes(Gpu& gpu, const ApiPlan& plan, CaseData& data,
                                     const DeviceBuffer& workspace) {
  data.poison_output();
  plan.run(data.args(), workspace, gpu.device.stream());
  gpu.device.synchronize();
  std::vector<unsigned char> bytes(data.out().size());
  data.out().read(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

TEST_CASE(
    "a request longer than max_kv_len gives NaN rows and sets the status bit, its neighbours are "
    "right") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for (const char* line : {"heads=8/2 rows=3 out=f32 batch=4 len=100,3000,700,1",
                           "heads=8/2 rows=3 kv=e4m3 out=f32 batch=4 len=100,3000,700,1"}) {
    const Case c = prepared(*gpu, line);
    CaseData data(gpu->device, c);
    const ApiPlan plan(gpu->context, c);
    qrow_args args = data.args();
    args.max_kv_len = 1000;
    CHECK_MESSAGE(check_call(*gpu, plan, data, args) == "", std::string(line));
    CHECK((data.read_device_status() & QROW_DEVICE_KV_LEN_ABOVE_BOUND) != 0);
  }
}

TEST_CASE("lengths within the bound leave the device status alone") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=8/2 rows=3 out=f32 batch=4 len=100,3000,0,1");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  CHECK(check_call(*gpu, plan, data, data.args()) == "");
  CHECK(data.read_device_status() == 0);
}

TEST_CASE("fewer rows than were compiled in are right, for every number of them") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=12/2 rows=8 out=f32 lse=e batch=3 len=700,5,64");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  for (int rows = 1; rows <= 8; ++rows) {
    qrow_args args = data.args();
    args.rows = rows;
    const std::string wrong = check_call(*gpu, plan, data, args);
    CHECK_MESSAGE(wrong == "", rows, " rows: ", wrong);
  }
}

TEST_CASE("a generous max_kv_len changes nothing but the grid") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=8/2 rows=4 out=f32 batch=3 len=700,5,64");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  qrow_args args = data.args();
  args.max_kv_len = 1 << 20;
  CHECK(check_call(*gpu, plan, data, args) == "");
}

TEST_CASE("a softmax scale of the caller's is used") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=8/2 rows=2 out=f32 lse=e batch=2 len=300,40");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  qrow_args args = data.args();
  args.softmax_scale = 0.03f;
  CHECK(check_call(*gpu, plan, data, args) == "");
}

// The softmax's reference moves only when a score passes it by 2^8, which scores of deviation 1
// never do.
TEST_CASE("scores far above those before them leave the right weights") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for (const char* line :
       {"heads=8/2 d=64 rows=2 out=f32 lse=e batch=2 len=900,40 splits=1",
        "heads=8/2 d=64 rows=2 kv=e4m3 out=f32 lse=e batch=2 len=900,40 splits=1"}) {
    const Case c = prepared(*gpu, line);
    CaseData data(gpu->device, c);
    const ApiPlan plan(gpu->context, c);
    qrow_args args = data.args();
    args.softmax_scale = 1.0f;
    const std::string wrong = check_call(*gpu, plan, data, args);
    CHECK_MESSAGE(wrong == "", std::string(line), ": ", wrong);
  }
}

TEST_CASE("the same call gives the same bits, whatever the workspace held before") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case long_case = prepared(*gpu, "heads=16/2 rows=4 out=f32 batch=3 len=20000,17,900");
  const Case other_case = prepared(*gpu, "heads=8/1 rows=8 kv=e4m3 out=f32 batch=5 len=4000");
  CaseData data(gpu->device, long_case), other_data(gpu->device, other_case);
  const ApiPlan plan(gpu->context, long_case), other_plan(gpu->context, other_case);
  const std::size_t bytes =
      std::max(plan.workspace_bytes(3, 20000), other_plan.workspace_bytes(5, 4000));
  const DeviceBuffer workspace = make_poisoned_workspace(gpu->device.driver(), bytes);
  const std::vector<unsigned char> first = run_bytes(*gpu, plan, data, workspace);
  run_bytes(*gpu, other_plan, other_data, workspace);
  CHECK(run_bytes(*gpu, plan, data, workspace) == first);
  CHECK(run_bytes(*gpu, plan, data, workspace) == first);
}

TEST_CASE("the workspace query suffices for every smaller call") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=16/2 rows=4 out=f32 batch=6 len=5000");
  const ApiPlan plan(gpu->context, c);
  const std::size_t whole = plan.workspace_bytes(6, 5000);
  CHECK(whole >= plan.workspace_bytes(5, 5000));
  CHECK(whole >= plan.workspace_bytes(6, 70));
  CHECK(whole >= plan.workspace_bytes(1, 1));
}

TEST_CASE("a batch of 0 does nothing") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=8/2 out=f32 batch=2 len=100");
  CaseData data(gpu->device, c);
  const ApiPlan plan(gpu->context, c);
  qrow_args args = data.args();
  args.batch = 0;
  CHECK(qrow_plan_run(plan.get(), &args, nullptr, 0, gpu->device.stream()) == QROW_STATUS_OK);
  gpu->device.synchronize();
}

TEST_CASE("qrow_decode compiles on first use, then hits, with the plan's result") {
  Gpu* gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const Case c = prepared(*gpu, "heads=8/2 rows=2 out=f32 lse=e batch=3 len=2000,40,0");
  CaseData data(gpu->device, c);
  const ApiCase api(c);
  const qrow_args args = data.args();
  std::size_t bytes = 0;
  CHECK(qrow_workspace_bytes(gpu->context.get(), &api.spec, args.batch, args.max_kv_len, &bytes) ==
        QROW_STATUS_OK);
  const DeviceBuffer workspace = make_poisoned_workspace(gpu->device.driver(), bytes);
  for (int call = 0; call < 2; ++call) {
    data.poison_output();
    check_api(qrow_decode(gpu->context.get(), &api.spec, &args, workspace.as(), bytes,
                          gpu->device.stream()));
    const ReferenceResult reference = compute_reference(gpu->device, c.spec, args);
    CHECK(judge(compare(gpu->device, data, reference), error_limits(c.spec)) == "");
  }
}

}  // namespace qrow
