#include "tests/emulator/little_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/skip.hpp"

namespace qrow {

using namespace emulator;

namespace {

constexpr const char* kBefore = R"(#include "templates/common/ptx.cuh"
namespace ptx = qrow::ptx;
struct Params {
  unsigned* words;
  unsigned n;
};
#define ONE(name) QROW_EMULATED_ENTRY(name, Params)
#define BOTH(name)                                          \
  void name##_broken(const Params& p) { name<false>(p); }   \
  void name##_mended(const Params& p) { name<true>(p); }    \
  ONE(name##_broken)                                        \
  ONE(name##_mended)
)";

// One object and its load per kernel of a test.
std::unique_ptr<const Object> load(const BuildOptions& options, const std::string& object,
                                   const std::string& kernel) {
  std::string why;
  auto loaded = Object::load(object_path(options, object), kernel, &why);
  if (loaded == nullptr) throw std::runtime_error(why);
  return loaded;
}

}  // namespace

LittleMemory::LittleMemory() : words_(kWords + 2 * kGuardWords) {
  std::iota(words_.begin(), words_.end(), 0u - unsigned{kGuardWords});
  memory_.add(words(), kWords * sizeof(unsigned));
}

BuildOptions LittleKernels::default_options() {
  BuildOptions options;
  options.folder = QROW_EMULATED_FOLDER "-little";
#ifdef QROW_EMULATED_SANITIZE
  options.instrument = Instrument::sanitize;
#endif
  return options;
}

LittleKernels::LittleKernels(const std::string& name, const std::string& text,
                             const BuildOptions& options)
    : name_(name), source_(kBefore + text), options_(options) {
  build_objects(options_, {{name_, source_}});
}

Report LittleKernels::run(const std::string& kernel, const LittleLaunch& how, LittleMemory& memory,
                          Grid& grid) const {
  const std::unique_ptr<const Object> object = load(options_, name_, kernel);
  const LittleParams params{memory.words(), how.n};
  REQUIRE(object->entry().params_bytes == sizeof params);
  Launch launch;
  launch.entry = &object->entry();
  launch.params = &params;
  launch.grid = how.grid;
  launch.threads = how.threads;
  launch.smem_bytes = how.smem_bytes;
  launch.overlaps_previous = how.overlaps_previous;
  launch.landing = how.landing;
  launch.seed = how.seed;
  launch.code_begin = object->begin();
  launch.code_end = object->end();
  return grid.run(launch);
}

Report LittleKernels::run(const std::string& kernel, const LittleLaunch& launch) const {
  LittleMemory memory;
  Grid grid(memory.memory());
  return run(kernel, launch, memory, grid);
}

std::string LittleKernels::place(const std::string& mark) const {
  const std::size_t at = source_.find(mark);
  REQUIRE_MESSAGE(at != std::string::npos, mark);
  REQUIRE_MESSAGE(source_.find(mark, at + 1) == std::string::npos, mark);
  const auto line = 1 + std::count(source_.begin(), source_.begin() + static_cast<long>(at), '\n');
  return name_ + ".cpp:" + std::to_string(line);
}

std::vector<LittleLaunch> schedules(const LittleLaunch& launch, int seeds) {
  std::vector<LittleLaunch> all;
  for (int i = 0; i <= seeds; ++i) {
    for (const Landing landing : {Landing::late, Landing::random}) {
      all.push_back(launch);
      all.back().seed = 7919u * static_cast<unsigned>(i);
      all.back().landing = landing;
    }
  }
  return all;
}

void check_found(const LittleKernels& kernels, const std::string& kernel,
                 const LittleLaunch& launch, const Expected& expected) {
  for (const LittleLaunch& schedule : schedules(launch, 5)) {
    CAPTURE(kernel);
    CAPTURE(schedule.seed);
    CAPTURE(static_cast<int>(schedule.landing));
    const Report report = kernels.run(kernel, schedule);
    CAPTURE(report.text());
    const auto is_it = [&](const Fault& fault) {
      const auto holds = [&](const std::string& word) {
        // A line number ends where the digits end.
        const std::size_t at = fault.text.find(word);
        const std::size_t end = at + word.size();
        return at != std::string::npos && (end >= fault.text.size() || !isdigit(fault.text[end]));
      };
      const auto names = [&](const std::string& mark) { return holds(kernels.place(mark)); };
      return fault.kind == expected.kind &&
             std::all_of(expected.marks.begin(), expected.marks.end(), names) &&
             std::all_of(expected.words.begin(), expected.words.end(), holds) &&
             fault.text.find("block ") == 0 && fault.text.find("thread ") != std::string::npos;
    };
    // One schedule is enough to see what is wrong.
    CHECK(std::any_of(report.faults.begin(), report.faults.end(), is_it));
    for (const Fault& fault : report.faults) {
      const bool may = fault.kind == expected.kind ||
                       std::count(expected.others.begin(), expected.others.end(), fault.kind) > 0;
      CHECK_MESSAGE(may, fault_name(fault.kind));
    }
  }
}

void check_clean(const LittleKernels& kernels, const std::string& kernel,
                 const LittleLaunch& launch) {
  for (const LittleLaunch& schedule : schedules(launch, 20)) {
    CAPTURE(kernel);
    CAPTURE(schedule.seed);
    CHECK(kernels.run(kernel, schedule).text() == "");
  }
}

void check_bites(const LittleKernels& kernels, const std::string& name, const LittleLaunch& launch,
                 const Expected& expected) {
  check_found(kernels, name + "_broken", launch, expected);
  check_clean(kernels, name + "_mended", launch);
}

bool skips_faults() {
#ifdef QROW_EMULATED_SANITIZE
  skip_case("kernels are compiled with a sanitizer here, which hides plain accesses");
  return true;
#else
  return false;
#endif
}

}  // namespace qrow
