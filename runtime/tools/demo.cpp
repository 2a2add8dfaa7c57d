// `qrow demo`: the main job in one minute, as the command lines that do it.
#include <cstdio>
#include <string>
#include <vector>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/shared_arguments.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow demo [--arch LIST]

The main job in one minute: compiles the attention kernels of Qwen3.6-35B-A3B (16 query heads, 2 KV heads, head_dim 256)
for 1, 2, 4 and 8 rows, lists them, exports them, and looks them up again. With a GPU it also runs them, compares
them with float64 and times them; without one it runs a small case on the CPU. Shows each command line before it runs it.

example: qrow demo --arch sm_90a
)";

const std::vector<std::string> kCases = {
    "heads=16/2 d=256 kv=e4m3",        "heads=16/2 d=256 rows=2 kv=e4m3",
    "heads=16/2 d=256 rows=4 kv=e4m3", "heads=16/2 d=256 rows=8 kv=e4m3",
    "heads=16/2 d=256 rows=4",
};

// Small, and built into the program (CMakeLists.txt).
constexpr const char* kEmulatedCase = "heads=16/2 d=256 rows=4 kv=e4m3 batch=2 len=200";

class Demo {
 public:
  explicit Demo(Output& output) : output_(output) {}

  // Shows a command line, runs it and remembers the first failure; nothing after that.
  void step(const std::string& what, std::vector<std::string> words) {
    if (exit_code_ != kExitDone) return;
    std::string line = "qrow";
    for (const std::string& word : words)
      line += word.find(' ') == std::string::npos ? ' ' + word : " \"" + word + '"';
    output_.line("\n{}\n$ {}", what, line);
    if (output_.json()) words.push_back("--json");
    if (output_.quiet()) words.push_back("--quiet");
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    exit_code_ = run_command_line(pointers, output_.out(), output_.err());
  }

  int exit_code() const { return exit_code_; }

 private:
  Output& output_;
  int exit_code_ = kExitDone;
};

std::vector<std::string> join(std::vector<std::string> first,
                              const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

int run(Arguments& arguments, Output& output) {
  std::string cache = resolve_cache_path(arguments.value("--cache").value_or(""));
  std::vector<std::string> archs = arguments.list("--arch");
  arguments.words(0, 0, "qrow demo [--arch LIST]");
  std::string no_gpu;
  const Arch* local = local_arch(&no_gpu);
  if (archs.empty()) archs.emplace_back(local != nullptr ? local->name : "sm_90a");
  std::string arch_list;
  for (const std::string& arch : archs)
    arch_list += (arch_list.empty() ? "" : ",") + std::string(arch_by_name(arch).name);
  std::vector<std::string> place =
      cache.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--cache", cache};

  Demo demo(output);
  std::vector<std::string> prewarm = join(join({"prewarm"}, kCases), {"--arch", arch_list});
  demo.step("Compile the kernels of a real model, without needing a GPU.", join(prewarm, place));
  demo.step("They are in the cache.", join({"list", "--arch", arch_list}, place));
  demo.step(
      "Why is a kernel what it is, and would a call compile anything?",
      join({"explain", "heads=16/2 d=256 rows=4 kv=e4m3 batch=8 len=4096", "--arch", arch_list},
           place));
  if (!cache.empty()) {
    const std::string file = cache + ".demo-export";
    const bool was_there = file_exists(file);
    demo.step("One file takes them to other machines (the demo deletes it again).",
              join({"export", file, "--arch", arch_list}, place));
    if (!was_there) std::remove(file.c_str());
  }
  demo.step("Ask again: everything is found, nothing is compiled.", join(prewarm, place));
  if (local != nullptr) {
    demo.step("Run on this GPU, checked against float64 and timed.",
              join({"run", "heads=16/2 d=256 rows=4 kv=e4m3 batch=8 len=4096"}, place));
  } else {
    output.line("\nThere is no GPU here: {}", no_gpu);
    JsonObject record;
    output.record(record.add("no_gpu", no_gpu));
    demo.step("So one small call runs on the CPU, by the emulator, and is checked against float64.",
              {"run", "--emulate", kEmulatedCase});
  }
  return demo.exit_code();
}

}  // namespace

extern const Command kDemoCommand;
const Command kDemoCommand = {"demo", "the main job in one minute", kUsage, run};

}  // namespace qrow
