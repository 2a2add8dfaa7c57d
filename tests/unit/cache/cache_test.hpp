// What the cache tests share: a folder of their own, sample rows, a recorded log, child processes.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"
#include "cache/store_access.hpp"
#include "cache/tuning_rows.hpp"
#include "runtime/base/error.hpp"

namespace qrow::test {

// A fresh folder that only we can write, gone with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "qrow-cache-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = std::filesystem::canonical(name).string();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name = "cache.sqlite") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Keeps the messages of a store.
class Recorder {
 public:
  Log log() {
    return Log(LogLevel::debug, [lines = lines_](LogLevel level, const char* text) {
      const std::lock_guard lock(lines->mutex);
      if (level <= LogLevel::warning) lines->warnings.emplace_back(text);
    });
  }
  std::vector<std::string> warnings() const {
    const std::lock_guard lock(lines_->mutex);
    return lines_->warnings;
  }

 private:
  struct Lines {
    std::mutex mutex;
    std::vector<std::string> warnings;
  };
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
};

inline KernelRow sample_row(int number, std::size_t cubin_bytes = 50'000) {
  KernelRow row;
  row.key_text = fmt::format("family=synthetic number={}", number);
  row.key = digest_of(row.key_text);
  row.family = "synthetic";
  row.arch = number % 2 == 0 ? "sm_80" : "sm_90a";
  row.entry_name = fmt::format("qrow_synthetic_{:08x}", number);
  row.nvrtc_build = "13.0.88";
  row.options = "--std=c++17";
  row.case_line = "heads=64/8 rows=4";
  row.registers = 128;
  row.smem_bytes = 32768;
  row.compile_ms = 412.5;
  row.created_unix = 1'700'000'000 + number;
  // The first words differ between rows, so that a test finds a cubin in its file; the rest is a
  // cheap pattern.
  row.cubin.assign(cubin_bytes, static_cast<std::byte>(number));
  std::mt19937 random(static_cast<unsigned>(number));
  for (std::size_t i = 0; i < std::min<std::size_t>(cubin_bytes, 256); ++i)
    row.cubin[i] = static_cast<std::byte>(random());
  return row;
}

inline TuningRow sample_tuning(int number, std::int64_t samples = 10) {
  TuningRow row;
  row.spec = fmt::format("heads=64/8 rows={}", number);
  row.bucket_batch = 128;
  row.bucket_kv_len = 4096;
  row.bucket_rows = number;
  row.device_cc = 90;
  row.device_sms = 132;
  row.device_name = "H200";
  row.family = "decode_mma";
  row.tuning_version = 1;
  row.tuning = "tile_tokens:32";
  row.time_us = 147.25;
  row.samples = samples;
  row.nvrtc_build = "13.0.88";
  row.template_digest = digest_of("templates");
  row.created_unix = 1'700'000'000;
  return row;
}

inline void add_tuning(KernelStore& store, const TuningRow& row) {
  StoreAccess::write(store, [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    merge_tuning(database, row);
    transaction.commit();
  });
}

inline std::unique_ptr<KernelStore> open_store(const std::string& path, const Log& log = {},
                                               std::int64_t limit = 0) {
  StoreOptions options;
  options.path = path;
  options.log = log;
  if (limit != 0) options.size_limit_bytes = limit;
  return KernelStore::open(options);
}

inline std::unique_ptr<KernelStore> open_seed(const std::string& path, const Log& log = {}) {
  StoreOptions options;
  options.path = path;
  options.read_only = true;
  options.log = log;
  return KernelStore::open(options);
}

inline bool has(KernelStore& store, const KernelRow& row) {
  for (const KernelRow& found : store.find(row.key, row.key_text)) {
    if (found.cubin == row.cubin) return true;
  }
  return false;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The text of the Error(cache) that `operation` throws; "" if it throws none.
template <typename Operation>
std::string error_of(const Operation& operation) {
  try {
    operation();
  } catch (const Error& error) {
    return error.status() == Status::cache ? error.what()
                                           : "another status: " + std::string(error.what());
  }
  return {};
}

// Damages the row where it lies. REQUIRES: no store has the file open.
inline void flip_cubin_byte(const std::string& file, const KernelRow& row) {
  std::string bytes = bytes_of(file);
  const std::size_t place =
      bytes.find(std::string(reinterpret_cast<const char*>(row.cubin.data()), 32));
  if (place == std::string::npos) throw std::runtime_error("the cubin is not in the file");
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  write_bytes(file, bytes);
}

// One warning, with this text in it.
inline bool warned_once(const Recorder& recorder, const std::string& part) {
  int count = 0;
  for (const std::string& line : recorder.warnings()) count += contains(line, part);
  return count == 1;
}

// A child process that runs `work` and exits with its value; 99 for an exception.
inline pid_t start_child(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int code = 99;
  try {
    code = work();
  } catch (...) {
  }
  ::_exit(code);  // no test summary, no destructors of the parent's objects
}

// The exit code; 1000 + signal for a child that was killed.
inline int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline int in_child(const std::function<int()>& work) { return wait_for(start_child(work)); }

}  // namespace qrow::test
