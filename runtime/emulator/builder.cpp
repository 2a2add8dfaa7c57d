#include "runtime/emulator/builder.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "jit/compiler.hpp"
#include "jit/entry.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"
#include "templates/sources.hpp"

namespace qrow::emulator {
namespace {

namespace fs = std::filesystem;

constexpr SourceFile kHeaders[] = {
#include "embedded_headers.inc"
};
constexpr std::string_view kPtxTemplate = "templates/common/ptx.cuh";
constexpr std::string_view kPtxEmulated = "runtime/emulator/device/ptx.hpp";

// Templates compute as written: no fused multiply-add that they do not ask for. The instrumented
// code must not call the sanitizer's runtime for anything but accesses.
constexpr const char* kFlags =
    "-std=c++20 -O1 -g1 -fPIC -shared -w -ffp-contract=off -fno-exceptions "
    "-fasynchronous-unwind-tables -fno-strict-aliasing -fvisibility=hidden "
    "-DQROW_OBJECT_OF_ITS_OWN "
    "-fstack-clash-protection";  // so that no frame steps over the guard page below a stack

std::string instrument_flags(Instrument instrument, bool is_clang) {
  switch (instrument) {
    case Instrument::accesses:
      return is_clang ? "-fsanitize=thread,alignment -mllvm -tsan-instrument-func-entry-exit=0 "
                        "-fno-sanitize-link-runtime -DQROW_PLAIN_ACCESSES=true -include "
                        "runtime/emulator/device/plain_accesses.hpp"
                      : "-fsanitize=thread,alignment --param tsan-instrument-func-entry-exit=0 "
                        "-nodefaultlibs -DQROW_PLAIN_ACCESSES=true -include "
                        "runtime/emulator/device/plain_accesses.hpp";
    case Instrument::sanitize:
      return "-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined";
    case Instrument::nothing:
      return "";
  }
  return "";
}

// Longer than any compilation takes; a process that dies gives its lock back.
constexpr int kLockWaitMs = 300'000;

struct Output {
  int status;
  std::string text;
};
Output run_command(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), nullptr);
  if (!pipe) return {-1, "popen failed"};
  Output output{0, ""};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;)
    output.text.append(buffer, n);
  output.status = pclose(pipe.release());
  return output;
}

// For the shell.
std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool runs(const std::string& compiler) {
  return run_command(quoted(compiler) + " --version").status == 0;
}

struct Toolchain {
  std::string compiler;
  std::string version;  // first line of --version
  bool is_clang = false;
};

Toolchain toolchain_of(const BuildOptions& options) {
  const std::optional<std::string> compiler = host_compiler(options);
  if (!compiler) {
    fail(Status::no_compiler,
         "emulating a kernel needs a C++ compiler on this machine: {}. Install g++ 12 or clang 14.",
         options.compiler.empty() ? "neither g++ nor clang++ runs"
                                  : quoted(options.compiler) + " does not run");
  }
  const std::string text = run_command(quoted(*compiler) + " --version").text;
  return {*compiler, text.substr(0, text.find('\n')), text.find("clang") != std::string::npos};
}

FileLock lock_of(const std::string& path) {
  std::string reason;
  FileLock lock = FileLock::acquire(path + ".lock", kLockWaitMs, &reason);
  if (!lock)
    fail(Status::cache, "cannot lock '{}.lock' to make a kernel for the CPU: {}", path, reason);
  return lock;
}

// The header folder of these sources, written once.
std::string write_headers(const BuildOptions& options, const std::string& digest) {
  const fs::path root = fs::path(options.folder) / ("include-" + digest.substr(0, 8));
  const FileLock lock = lock_of(root.string());
  if (fs::exists(root / "complete")) return root.string();
  const auto write = [&root](std::string_view path, std::string_view text) {
    fs::create_directories((root / path).parent_path());
    write_file((root / path).string(), text);
  };
  for (const SourceFile& file : template_sources()) {
    if (file.path != kPtxTemplate) write(file.path, file.text);
  }
  for (const SourceFile& file : kHeaders)
    write(file.path == kPtxEmulated ? kPtxTemplate : file.path, file.text);
  write("complete", "");
  return root.string();
}

// Of everything that the objects' meaning depends on beside the key.
std::string sources_digest(const Toolchain& toolchain, Instrument instrument) {
  std::string all = toolchain.version + kFlags + instrument_flags(instrument, toolchain.is_clang);
  for (const SourceFile& file : template_sources()) all += file.text;
  for (const SourceFile& file : kHeaders) all += file.text;
  return digest_of(all).hex();
}

std::string source_path(const BuildOptions& options, const std::string& name) {
  return (fs::absolute(options.folder) / (name + ".cpp")).string();
}

bool is_made(const BuildOptions& options, const BuildItem& item) {
  const std::string source = source_path(options, item.name);
  // In this order: who makes an object anew removes it before he writes its source.
  return file_exists(source) && read_file(source) == item.text &&
         file_exists(object_path(options, item.name));
}

// The items with a last line that names what their objects are made of beside their own text, so
// that objects of other templates, headers or compilers do not pass for theirs.
std::vector<BuildItem> stamped(const std::vector<BuildItem>& items, const std::string& digest) {
  std::vector<BuildItem> all = items;
  for (BuildItem& item : all) item.text += "// made of " + digest + '\n';
  return all;
}

void compile_one(const BuildOptions& options, const Toolchain& toolchain,
                 const std::string& include, const BuildItem& item) {
  const std::string path = object_path(options, item.name);
  const FileLock lock = lock_of(path);
  if (is_made(options, item)) return;  // by another process, meanwhile
  const std::string source = source_path(options, item.name);
  fs::remove(path);
  write_file(source, item.text);
  const std::string made = fmt::format("{}.{}", path, getpid());
  const std::string command = fmt::format(
      "cd {} && {} {} {} -include runtime/emulator/device/cuda.hpp -I . -o {} {}", quoted(include),
      quoted(toolchain.compiler), kFlags, instrument_flags(options.instrument, toolchain.is_clang),
      quoted(made), quoted(source));
  const Output output = run_command(command);
  if (output.status != 0) {
    fail(Status::compile_failed, "'{}' did not compile {} for the emulator:\n{}",
         toolchain.compiler, source, output.text);
  }
  fs::rename(made, path);
}

}  // namespace

std::optional<std::string> host_compiler(const BuildOptions& options) {
  if (!options.compiler.empty())
    return runs(options.compiler) ? std::optional(options.compiler) : std::nullopt;
  for (const char* name : {"g++", "clang++"})
    if (runs(name)) return name;
  return std::nullopt;
}

BuildItem build_item(const Variant& variant, const Key& key) {
  const std::string name = entry_name(variant, key);
  return {name, entry_text(variant, key) +
                    fmt::format("QROW_EMULATED_ENTRY({}, qrow::{})\n", name, variant.params_type)};
}

std::string object_path(const BuildOptions& options, const std::string& name) {
  return (fs::absolute(options.folder) / (name + ".so")).string();
}

BuildCounts build_objects(const BuildOptions& options, const std::vector<BuildItem>& given) {
  const Toolchain toolchain = toolchain_of(options);
  if (std::string reason; !make_folders(options.folder, &reason)) {
    fail(Status::cache, "cannot make the folder '{}' for kernels for the CPU: {}", options.folder,
         reason);
  }
  const std::string digest = sources_digest(toolchain, options.instrument);
  const std::string include = fs::absolute(write_headers(options, digest)).string();
  const std::vector<BuildItem> items = stamped(given, digest);
  BuildCounts counts;
  std::vector<const BuildItem*> missing;
  for (const BuildItem& item : items) {
    if (is_made(options, item)) {
      ++counts.kept;
    } else {
      missing.push_back(&item);
    }
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < missing.size();) {
      try {
        compile_one(options, toolchain, include, *missing[i]);
      } catch (...) {
        std::lock_guard lock(mutex);
        error = std::current_exception();
        next = missing.size();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  counts.compiled = static_cast<int>(missing.size());
  return counts;
}

}  // namespace qrow::emulator
