#include "tests/nvrtc/progress.hpp"

#include <fstream>

#include "runtime/base/error.hpp"

namespace qrow {

Progress::Progress(const std::string& path, const std::string& nvrtc_build)
    : nvrtc_build_(nvrtc_build) {
  if (path.empty()) return;
  std::ifstream earlier(path);
  for (std::string line; std::getline(earlier, line);) done_.insert(line);
  file_ = std::fopen(path.c_str(), "a");
  if (file_ == nullptr) fail(Status::invalid_argument, "cannot write the progress file '{}'", path);
}

Progress::~Progress() {
  if (file_ != nullptr) std::fclose(file_);
}

void Progress::note(const Key& key) {
  if (file_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  std::fprintf(file_, "%s\n", line_of(key).c_str());
  std::fflush(file_);
}

}  // namespace qrow
