// Ctrl-C: the first SIGINT or SIGTERM asks long work to stop (what is done is kept), the second
// ends the process.
#pragma once

#include <atomic>

namespace qrow {

// Installs the handlers on the first call. True once the user asked to stop; pass it on as
// `cancel`.
const std::atomic<bool>& interrupted();

}  // namespace qrow
