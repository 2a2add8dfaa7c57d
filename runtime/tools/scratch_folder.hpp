// A private folder that goes with its owner, and all that is in it.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "runtime/base/error.hpp"

namespace qrow {

class ScratchFolder {
 public:
  // `beginning` of its path; the rest is drawn. Throws Error(cache).
  explicit ScratchFolder(const std::string& beginning) : path_(beginning + "XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      fail(Status::cache, "cannot make a folder '{}…': {}", beginning,
           std::generic_category().message(errno));
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace qrow
