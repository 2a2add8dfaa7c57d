#include <fcntl.h>

#include <span>
#include <vector>

#include "runtime/emulator/driver.hpp"
#include "runtime/tools/command.hpp"

namespace qrow {
// Written while qrow is built (CMakeLists.txt).
extern const std::span<const emulator::Entry* const> kBuiltInKernels;
}  // namespace qrow

namespace {

// A standard stream that the caller closed would be given to the next file that is opened, and what
// is printed would land in it. What takes its place fails a write to standard output.
void occupy_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY));  // the lowest: fd
  }
}

}  // namespace

int main(int count, char** words) {
  occupy_standard_streams();
  qrow::emulator::EmulatedDriver::get().set_built_in(qrow::kBuiltInKernels);
  std::vector<const char*> rest(words + (count > 0 ? 1 : 0), words + count);
  return qrow::run_command_line(rest, stdout, stderr);
}
