#include "jit/nvrtc.hpp"

#include <charconv>
#include <filesystem>

#include "jit/nvrtc_program.hpp"
#include "jit/nvrtc_search.hpp"
#include "runtime/base/dynlib.hpp"
#include "runtime/base/error.hpp"

namespace qrow {

struct Nvrtc::State {
  DynLib builtins;
  DynLib library;
  NvrtcFunctions functions;
  std::string path;
  int major = 0;
  int minor = 0;
  std::string build;
  std::vector<int> archs;

  // Each fills its part; the reason why this library cannot be used, or "".
  std::string load_functions();
  std::string ask_version();
  std::string load_builtins();
  std::string ask_archs();
  std::string probe_build();
  std::string set_up(const std::string& file);
};

namespace {

// __maxnreg__ and --no-cache exist only from 12.9.
constexpr int kOldestMajor = 12, kOldestMinor = 9;

// The number after `word = ` in PTX, or -1.
int initial_value(const std::string& ptx, std::string_view word) {
  const std::size_t at = ptx.find(std::string(word) + " = ");
  if (at == std::string::npos) return -1;
  int value = -1;
  const char* digits = ptx.data() + at + word.size() + 3;
  std::from_chars(digits, ptx.data() + ptx.size(), value);
  return value;
}

}  // namespace

std::string Nvrtc::State::load_functions() {
#define QROW_NVRTC_FUNCTION(result, name, parameters)                                 \
  functions.name = reinterpret_cast<decltype(functions.name)>(library.symbol(#name)); \
  if (functions.name == nullptr) return "has no function " #name " (older than 12.9?)";
#include "jit/nvrtc_functions.def"
#undef QROW_NVRTC_FUNCTION
  return "";
}

std::string Nvrtc::State::ask_version() {
  if (functions.nvrtcVersion(&major, &minor) != 0) return "nvrtcVersion failed";
  if (major > kOldestMajor || (major == kOldestMajor && minor >= kOldestMinor)) return "";
  return fmt::format("is version {}.{}; qrow needs {}.{} or later", major, minor, kOldestMajor,
                     kOldestMinor);
}

// NVRTC finds this file by its bare name only (no RUNPATH, no folder of its own); one that is
// already loaded under that name is taken. So it is loaded here, before the first compile, from
// NVRTC's own folder, else by the loader's search.
std::string Nvrtc::State::load_builtins() {
  namespace fs = std::filesystem;
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  std::error_code error;
  const fs::path beside = fs::path(path).parent_path() / name;
  const fs::path beside_target = fs::canonical(path, error).parent_path() / name;
  std::string reasons;
  for (const std::string& file : {beside.string(), beside_target.string(), name}) {
    std::string reason;
    builtins = DynLib::open(file, &reason);
    if (builtins) return "";
    if (reasons.find(reason) == std::string::npos) reasons += "; " + reason;
  }
  return fmt::format("its {} cannot be loaded{}", name, reasons);
}

std::string Nvrtc::State::ask_archs() {
  int count = 0;
  if (functions.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0)
    return "nvrtcGetNumSupportedArchs failed";
  archs.resize(static_cast<std::size_t>(count));
  return functions.nvrtcGetSupportedArchs(archs.data()) == 0 ? "" : "nvrtcGetSupportedArchs failed";
}

// nvrtcVersion stops at the minor number; the patch level is known to the compiler itself, as a
// predefined macro.
std::string Nvrtc::State::probe_build() {
  NvrtcProgram program(functions, "qrow_build.cu",
                       "extern \"C\" __device__ int qrow_build = __CUDACC_VER_BUILD__;\n", {});
  const NvrtcResult result =
      program.compile({fmt::format("--gpu-architecture=compute_{}", archs.front()), "--no-cache",
                       "--modify-stack-limit=false"});
  if (result != NvrtcResult::success) {
    return fmt::format("cannot compile: {} {}", program.result_text(result), program.log());
  }
  const int patch = initial_value(program.ptx(), "qrow_build");
  build =
      patch < 0 ? fmt::format("{}.{}", major, minor) : fmt::format("{}.{}.{}", major, minor, patch);
  return "";
}

std::string Nvrtc::State::set_up(const std::string& file) {
  std::string reason;
  library = DynLib::open(file, &reason);
  if (!library) return reason;
  path = library.path();
  try {
    for (const auto step : {&State::load_functions, &State::ask_version, &State::load_builtins,
                            &State::ask_archs, &State::probe_build}) {
      reason = (this->*step)();
      if (!reason.empty()) return fmt::format("{} {}", path, reason);
    }
  } catch (const Error& error) {
    return fmt::format("{}: {}", path, error.what());
  }
  // Threads of NVRTC may outlive us, and a second load costs 100 ms.
  library.leak();
  builtins.leak();
  return "";
}

Nvrtc::Nvrtc() : state_(std::make_unique<State>()) {}
Nvrtc::~Nvrtc() = default;

std::unique_ptr<Nvrtc> Nvrtc::load(const std::vector<NvrtcPlace>& places, std::string* why) {
  std::string report;
  for (const NvrtcPlace& place : places) {
    report += fmt::format("\n  {}: ", place.what);
    if (place.files.empty()) report += "no libnvrtc.so";
    for (std::size_t i = 0; i < place.files.size(); ++i) {
      std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
      const std::string reason = nvrtc->state_->set_up(place.files[i]);
      if (reason.empty()) return nvrtc;
      report += fmt::format("{}{}", i == 0 ? "" : "; ", reason);
    }
  }
  if (why != nullptr) {
    *why = fmt::format(
        "NVRTC, the CUDA run-time compiler, version {}.{} or later, was not found. Looked at:{}\n"
        "Install it (pip install nvidia-cuda-nvrtc, or a CUDA toolkit) or set QROW_NVRTC to the "
        "path of its libnvrtc.so.",
        kOldestMajor, kOldestMinor, report);
  }
  return nullptr;
}

const Nvrtc* Nvrtc::try_get(std::string* why) {
  struct Loaded {
    std::string why;
    std::unique_ptr<Nvrtc> nvrtc = load(nvrtc_places(NvrtcSurroundings::of_process()), &why);
  };
  // Never destroyed: a compile may still run in another thread while the process exits.
  static const Loaded& loaded = *new Loaded;
  if (why != nullptr && !loaded.nvrtc) *why = loaded.why;
  return loaded.nvrtc.get();
}

const Nvrtc& Nvrtc::get() {
  std::string why;
  const Nvrtc* nvrtc = try_get(&why);
  if (nvrtc == nullptr) throw Error(Status::no_compiler, why);
  return *nvrtc;
}

const std::string& Nvrtc::path() const { return state_->path; }
int Nvrtc::major() const { return state_->major; }
int Nvrtc::minor() const { return state_->minor; }
const std::string& Nvrtc::build() const { return state_->build; }
const std::vector<int>& Nvrtc::supported_archs() const { return state_->archs; }
const NvrtcFunctions& Nvrtc::functions() const { return state_->functions; }

}  // namespace qrow
