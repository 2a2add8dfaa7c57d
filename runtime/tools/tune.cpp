// `qrow tune`: says what it will be and refuses; the tuner is not part of this version.
#include "runtime/tools/command.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow tune CASE... [--budget SECONDS]

Measures candidates on the device and stores the pick. This version has no tuner: every kernel uses its family's
default tuning, and this command ends with exit code 2. To try a tuning by hand, force it in the case:

  qrow run "heads=64/8 rows=4 kv=e4m3 batch=8 len=4096 tuning=num_stages:3"
)";

int run(Arguments&, Output&) {
  fail(Status::invalid_argument,
       "this version has no tuner: kernels use their family's default tuning; force one with "
       "tuning= in a case "
       "('qrow explain CASE' shows the axes)");
}

}  // namespace

extern const Command kTuneCommand;
const Command kTuneCommand = {"tune", "measure candidates and store the pick (not in this version)",
                              kUsage, run};

}  // namespace qrow
