// qrow_nvrtc_tests: compiles kernels of every family for an architecture and looks at what the
// compiler made of them.
//
// A kernel passes if it has no spills and no local memory and its shared memory is within the
// architecture's limit. The last line counts kernels: "N passed, N failed, N skipped". Exit status
// 0, 1 (a kernel failed), 2 (wrong usage), 77 (no NVRTC).
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "jit/compiler.hpp"
#include "jit/entry.hpp"
#include "jit/nvrtc.hpp"
#include "jit/ptxas_log.hpp"
#include "templates/sources.hpp"
#include "tests/nvrtc/grid.hpp"
#include "tests/nvrtc/progress.hpp"

namespace qrow {
namespace {

constexpr char kUsage[] =
    "usage: qrow_nvrtc_tests --cases FILE [--arch NAME]... [--full] [--jobs N] [--progress FILE]\n"
    "  --cases FILE     case lines whose kernels are compiled\n"
    "  --arch NAME      an architecture; default: every row of jit/arch.def\n"
    "  --full           the wide set instead of the file (also: QROW_TEST_FULL=1)\n"
    "  --jobs N         compiles at once; default 2\n"
    "  --progress FILE  with the wide set: keep what is done, and go on there the next time\n";

struct Arguments {
  std::string cases;
  std::vector<const Arch*> archs;
  bool full = false;
  int jobs = 2;
  std::string progress;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments args;
  const char* full = std::getenv("QROW_TEST_FULL");
  args.full = full != nullptr && *full == '1';
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--full") {
      args.full = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (word == "--cases") {
      args.cases = value;
    } else if (word == "--arch") {
      args.archs.push_back(&arch_by_name(value));
    } else if (word == "--progress") {
      args.progress = value;
    } else if (word == "--jobs") {
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), args.jobs);
      if (parsed.ec != std::errc() || args.jobs < 1) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (args.cases.empty()) return std::nullopt;
  if (args.archs.empty()) {
    for (const Arch& arch : archs()) args.archs.push_back(&arch);
  }
  return args;
}

// What is wrong with a kernel; "" if nothing is.
std::string judge(const Variant& variant, const std::string& name, const CompileResult& result) {
  const Resources& found = result.resources;
  const auto logged = parse_ptxas_log(result.log, name);
  if (!logged) return "the assembler's report has an unknown form: " + result.log;
  if (logged->registers != found.registers || logged->stack_bytes != found.stack_bytes ||
      logged->static_smem_bytes != found.static_smem_bytes) {
    return fmt::format("the log says {} registers, {} B stack, {} B shared; the cubin {}, {}, {}",
                       logged->registers, logged->stack_bytes, logged->static_smem_bytes,
                       found.registers, found.stack_bytes, found.static_smem_bytes);
  }
  if (found.spill_store_bytes + found.spill_load_bytes > 0) {
    return fmt::format("spills {} B of stores, {} B of loads ({} registers)",
                       found.spill_store_bytes, found.spill_load_bytes, found.registers);
  }
  if (found.stack_bytes > 0) return fmt::format("uses {} B of local memory", found.stack_bytes);
  const int smem = found.static_smem_bytes + variant.smem_bytes;
  if (smem > variant.arch->smem_per_block_bytes) {
    return fmt::format("needs {} B of shared memory, a block of {} has {}", smem,
                       variant.arch->name, variant.arch->smem_per_block_bytes);
  }
  return "";
}

std::string compile_and_judge(const GridItem& item) {
  try {
    CompileJob job;
    job.name = entry_name(item.variant, item.key);
    job.text = entry_text(item.variant, item.key);
    job.headers = template_sources();
    job.arch = item.variant.arch;
    return judge(item.variant, job.name, compile(job));
  } catch (const Error& error) {
    return error.what();
  }
}

class Run {
 public:
  Run(const Arguments& args, Progress& progress) : args_(args), progress_(progress) {}

  void add(const Grid& grid, std::size_t stride) {
    for (const std::string& refusal : grid.refusals) report_failure(refusal);
    for (std::size_t i = 0; i < grid.items.size(); i += stride) items_.push_back(&grid.items[i]);
  }

  void work() {
    std::vector<std::jthread> threads;
    for (int i = 0; i < args_.jobs; ++i) threads.emplace_back([this] { take_items(); });
  }

  std::size_t size() const { return items_.size(); }
  int passed() const { return passed_; }
  int resumed() const { return resumed_; }
  int failed() const { return failed_; }

 private:
  void take_items() {
    for (std::size_t i = next_++; i < items_.size(); i = next_++) {
      const GridItem& item = *items_[i];
      if (progress_.is_done(item.key)) {
        ++resumed_;
        ++passed_;
        continue;
      }
      const std::string trouble = compile_and_judge(item);
      if (trouble.empty()) {
        ++passed_;
        progress_.note(item.key);
      } else {
        report_failure(fmt::format("{} {} ({}): {}\n  {}", item.variant.family,
                                   item.variant.arch->name, item.wanted_by, trouble,
                                   item.key.text));
      }
      if ((passed_ + failed_) % 100 == 0)
        fmt::print("{} of {}\n", passed_ + failed_, items_.size());
    }
  }

  void report_failure(const std::string& text) {
    const std::lock_guard lock(mutex_);
    ++failed_;
    fmt::print("FAILED: {}\n", text);
    std::fflush(stdout);
  }

  const Arguments& args_;
  Progress& progress_;
  std::vector<const GridItem*> items_;
  std::atomic<std::size_t> next_{0};
  std::atomic<int> passed_{0}, failed_{0}, resumed_{0};
  std::mutex mutex_;
};

int run(const Arguments& args) {
  std::string why;
  const Nvrtc* nvrtc = Nvrtc::try_get(&why);
  if (nvrtc == nullptr) {
    fmt::print("{}\nSKIPPED: no NVRTC\n0 passed, 0 failed, 1 skipped\n", why);
    return 77;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Case> cases = args.full ? wide_cases() : read_case_file(args.cases);
  Progress progress(args.full ? args.progress : "", nvrtc->build());
  Run run(args, progress);
  std::vector<Grid> grids;
  for (const Arch* arch : args.archs) grids.push_back(make_grid(cases, *arch));
  for (std::size_t i = 0; i < grids.size(); ++i) {
    // A sample will do where another architecture gives nearly the same code.
    constexpr std::size_t kSample = 8;
    run.add(grids[i], has_twin(*args.archs[i]) ? kSample : 1);
  }
  fmt::print("{} kernels for {} architectures\n", run.size(), grids.size());
  run.work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("NVRTC {}, {:.0f} s, {} kernels known to be good from an earlier run\n",
             nvrtc->build(), seconds.count(), run.resumed());
  fmt::print("{} passed, {} failed, 0 skipped\n", run.passed(), run.failed());
  return run.failed() > 0 || run.passed() == 0 ? 1 : 0;
}

}  // namespace
}  // namespace qrow

int main(int argc, char** argv) {
  try {
    const auto args = qrow::parse(argc, argv);
    if (args) return qrow::run(*args);
    std::fputs(qrow::kUsage, stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "qrow_nvrtc_tests: {}\n", error.what());
  }
  return 2;
}
