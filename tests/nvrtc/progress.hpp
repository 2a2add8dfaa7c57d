// What an earlier, interrupted run has already found good: a text file with one line per kernel and
// compiler build. Thread-safe.
#pragma once

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "jit/key.hpp"

namespace qrow {

class Progress {
 public:
  // "" keeps nothing. Throws Error if the file can be neither read nor made.
  Progress(const std::string& path, const std::string& nvrtc_build);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_done(const Key& key) const { return done_.contains(line_of(key)); }
  void note(const Key& key);

 private:
  std::string line_of(const Key& key) const { return key.digest.hex() + " " + nvrtc_build_; }

  std::string nvrtc_build_;
  std::set<std::string> done_;  // as found at the start
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

}  // namespace qrow
