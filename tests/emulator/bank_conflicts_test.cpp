// The layout of tiles: rows of every width are stored and read without a second pass.
#include <doctest/doctest.h>

#include "tests/emulator/emulated.hpp"

namespace qrow {

TEST_CASE("tiles are stored and read without bank conflicts, whatever the width of their rows") {
  fake_cuda::Machine machine;
  machine.num_sms = 1;
  Emulated device(machine);
  for (const char* line :
       {"heads=4/2 d=64 rows=2 page=16 kv=e4m3 batch=1 len=900",  // 64 bytes
        "heads=4/2 d=64 rows=2 page=16 batch=1 len=900", "heads=4/2 rows=2 page=16 batch=1 len=900",
        "heads=4/2 d=256 rows=2 page=16 batch=1 len=200"}) {
    const Case c = parse_case(line);
    device.build({c});
    CaseData data(device.gpu().device, c);
    const ApiPlan plan(device.gpu().context, c);
    const DeviceBuffer workspace = make_poisoned_workspace(
        device.gpu().device.driver(), plan.workspace_bytes(c.batch, c.lens.front()));
    Emulated::take_report();
    plan.run(data.args(), workspace, device.gpu().device.stream());
    const emulator::Report report = Emulated::take_report();
    CHECK(report.shared_accesses > 1000);
    CHECK_MESSAGE(report.bank_conflicts * 1000 < report.shared_accesses, std::string(line), ": ",
                  report.bank_conflicts, " of ", report.shared_accesses);
  }
}

}  // namespace qrow
