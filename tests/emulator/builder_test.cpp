// Objects: made once, made anew when they must be, by several at a time, and errors that help.
#include "runtime/emulator/builder.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/error.hpp"
#include "tests/emulator/little_kernels.hpp"
#include "tests/skip.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

using namespace emulator;

BuildOptions options_in(const TemporaryFolder& folder) {
  BuildOptions options = LittleKernels::default_options();
  options.folder = folder.file("objects");
  return options;
}

// A kernel that writes this word.
BuildItem item(const std::string& name, int word) {
  return {name, "struct Params { unsigned* words; unsigned n; };\nvoid " + name +
                    "(const Params& p) { p.words[threadIdx.x] = " + std::to_string(word) +
                    "; }\nQROW_EMULATED_ENTRY(" + name + ", Params)\n"};
}

unsigned word_written(const BuildOptions& options, const std::string& name) {
  std::string why;
  const auto object = Object::load(object_path(options, name), name, &why);
  REQUIRE_MESSAGE(object != nullptr, why);
  LittleMemory memory;
  Grid grid(memory.memory());
  const LittleParams params{memory.words(), 0};
  Launch launch;
  launch.entry = &object->entry();
  launch.params = &params;
  launch.threads = 32;
  CHECK(grid.run(launch).text() == "");
  return memory[31];
}

// Of what build_objects throws; "" if it does not.
std::string message_of(const BuildOptions& options, const std::vector<BuildItem>& items,
                       Status status) {
  try {
    build_objects(options, items);
  } catch (const Error& error) {
    CHECK(error.status() == status);
    return error.what();
  }
  FAIL_CHECK("nothing was thrown");
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an object is made once, and anew when its text changes") {
  const TemporaryFolder folder;
  const BuildOptions options = options_in(folder);
  BuildCounts counts = build_objects(options, {item("first", 1), item("second", 2)});
  CHECK(counts.compiled == 2);
  counts = build_objects(options, {item("first", 1), item("second", 2)});
  CHECK(counts.compiled == 0);
  CHECK(counts.kept == 2);
  CHECK(word_written(options, "first") == 1);
  counts = build_objects(options, {item("first", 7), item("second", 2)});
  CHECK(counts.compiled == 1);
  CHECK(word_written(options, "first") == 7);
  CHECK(word_written(options, "second") == 2);
}

TEST_CASE("objects are made anew when they were made of something else or their file is gone") {
  const TemporaryFolder folder;
  const BuildOptions options = options_in(folder);
  build_objects(options, {item("first", 1)});
  std::ofstream(options.folder + "/first.cpp", std::ios::app) << "// made of other headers\n";
  CHECK(build_objects(options, {item("first", 1)}).compiled == 1);
  std::filesystem::remove(object_path(options, "first"));
  CHECK(build_objects(options, {item("first", 1)}).compiled == 1);
  BuildOptions other = options;
  other.instrument = Instrument::nothing;
  CHECK(build_objects(other, {item("first", 1)}).compiled == 1);
  CHECK(word_written(other, "first") == 1);
}

TEST_CASE("threads and processes that make the same objects at once all find them") {
  const TemporaryFolder folder;
  BuildOptions options = options_in(folder);
  options.jobs = 2;
  const std::vector<BuildItem> items = {item("first", 1), item("second", 2), item("third", 3)};
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        build_objects(options, items);
        for (const BuildItem& one : items)
          if (!std::filesystem::exists(object_path(options, one.name))) _exit(1);
        _exit(0);
      } catch (...) {
        _exit(2);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(build_objects(options, items).compiled == 0);
  CHECK(word_written(options, "third") == 3);
}

TEST_CASE("what the compiler says of a wrong text reaches the user, and leaves no object") {
  const TemporaryFolder folder;
  const BuildOptions options = options_in(folder);
  BuildItem wrong = item("wrong", 1);
  wrong.text += "int no_such = undeclared_name;\n";
  const std::string text = message_of(options, {item("right", 1), wrong}, Status::compile_failed);
  CHECK_MESSAGE(holds(text, "undeclared_name"), text);
  CHECK_MESSAGE(holds(text, "wrong.cpp"), text);
  CHECK_FALSE(std::filesystem::exists(object_path(options, "wrong")));
  CHECK(build_objects(options, {item("wrong", 5)}).compiled == 1);
  CHECK(word_written(options, "wrong") == 5);
}

TEST_CASE("a missing compiler is said, with its name") {
  const TemporaryFolder folder;
  BuildOptions options = options_in(folder);
  options.compiler = "no-such-compiler++";
  CHECK_FALSE(host_compiler(options).has_value());
  const std::string text = message_of(options, {item("first", 1)}, Status::no_compiler);
  CHECK_MESSAGE(holds(text, "no-such-compiler++"), text);
  CHECK_MESSAGE(holds(text, "g++"), text);
}

TEST_CASE("a folder that cannot be written is said, with its name") {
  const TemporaryFolder folder;
  BuildOptions options = options_in(folder);
  std::ofstream(options.folder) << "a file";
  for (const std::string& path : {options.folder, options.folder + "/below"}) {
    options.folder = path;
    const std::string text = message_of(options, {item("first", 1)}, Status::cache);
    CHECK_MESSAGE(holds(text, path), text);
  }
}

TEST_CASE("a folder with spaces and quotes in its name is a folder") {
  const TemporaryFolder folder;
  BuildOptions options = options_in(folder);
  options.folder = folder.file("it's a folder");
  CHECK(build_objects(options, {item("first", 3)}).compiled == 1);
  CHECK(word_written(options, "first") == 3);
}

TEST_CASE("an object without the kernel, or none, is refused with a reason") {
  const TemporaryFolder folder;
  const BuildOptions options = options_in(folder);
  build_objects(options, {item("first", 1)});
  std::string why;
  CHECK(Object::load(object_path(options, "first"), "second", &why) == nullptr);
  CHECK_MESSAGE(holds(why, "second"), why);
  CHECK(Object::load(object_path(options, "third"), "third", &why) == nullptr);
  CHECK_MESSAGE(holds(why, "third"), why);
}

TEST_CASE("without the hooks of plain accesses memory is not said to be uninitialised") {
  const TemporaryFolder folder;
  BuildOptions options = options_in(folder);
  options.instrument = Instrument::nothing;
  const LittleKernels kernels("unseen", R"(
__device__ void unseen(const Params& p) {
  unsigned* const shared = reinterpret_cast<unsigned*>(ptx::dynamic_shared());
  for (unsigned i = threadIdx.x; i < 256; i += 32) shared[i] = i;
  __syncwarp();
  unsigned r[4];
  ptx::ldmatrix_x4(r, ptx::smem_address(shared) + 16 * threadIdx.x);
  p.words[threadIdx.x] = r[0];
}
ONE(unseen)
)",
                              options);
  LittleLaunch launch;
  launch.threads = 32;
  check_clean(kernels, "unseen", launch);
}

TEST_CASE("g++ and clang++ make objects whose faults are found at the same lines") {
  if (skips_faults()) return;
  for (const char* compiler : {"g++", "clang++"}) {
    const TemporaryFolder folder;
    BuildOptions options = options_in(folder);
    options.compiler = compiler;
    if (!host_compiler(options)) {
      skip_case(std::string("no ") + compiler);
      continue;
    }
    CAPTURE(std::string(compiler));
    const LittleKernels kernels("compilers", R"(
__device__ unsigned* shared() { return reinterpret_cast<unsigned*>(ptx::dynamic_shared()); }
struct Big {
  unsigned words[20];
};

template <bool kMended>
__device__ void race(const Params& p) {
  shared()[threadIdx.x] = threadIdx.x;  // [race: write]
  __syncwarp();
  if (kMended) __syncthreads();
  p.words[threadIdx.x] = shared()[63 - threadIdx.x];  // [race: read]
}
BOTH(race)

template <bool kMended>
__device__ void vector(const Params& p) {
  const float y = reinterpret_cast<const float4*>(p.words + (kMended ? 4 : 6))->y;  // [vector]
  p.words[1024 + threadIdx.x] = static_cast<unsigned>(y);
}
BOTH(vector)

template <bool kMended>
__device__ void whole_struct(const Params& p) {
  const Big* const from = reinterpret_cast<const Big*>(p.words + (kMended ? 4076 : 4077));
  if (threadIdx.x == 0) *reinterpret_cast<Big*>(p.words) = *from;  // [whole_struct]
}
BOTH(whole_struct)

template <bool kMended>
__device__ void called_copy(const Params& p) {
  if (threadIdx.x == 0) memcpy(p.words, p.words + 2048, 8192 + (kMended ? 0 : p.n));  // [called]
}
BOTH(called_copy)

template <bool kMended>
__device__ void stopped(const Params& p) {
  if (kMended || threadIdx.x % 32 != 3) __syncwarp();  // [stopped]
}
BOTH(stopped)
)",
                                options);
    LittleLaunch launch;
    launch.n = 4;
    check_bites(
        kernels, "race", launch,
        {FaultKind::race, {"[race: write]", "[race: read]"}, {}, {FaultKind::uninitialised}});
    check_bites(kernels, "vector", launch, {FaultKind::misaligned, {"[vector]"}, {}});
    check_bites(kernels, "whole_struct", launch,
                {FaultKind::out_of_bounds, {"[whole_struct]"}, {}});
    check_bites(kernels, "stopped", launch, {FaultKind::missing_lane, {"[stopped]"}, {}});
    // g++ does not see what the C library's functions touch.
    if (std::string(compiler) == "clang++")
      check_bites(kernels, "called_copy", launch, {FaultKind::out_of_bounds, {"[called]"}, {}});
  }
}

}  // namespace qrow
