#include "jit/nvrtc.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "jit/compiler.hpp"
#include "jit/nvrtc_search.hpp"
#include "tests/skip.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

bool lacks_nvrtc() {
  if (Nvrtc::try_get(nullptr) != nullptr) return false;
  skip_case("no NVRTC");
  return true;
}

}  // namespace

TEST_CASE("NVRTC is loaded once, and says where from, which build it is and what it compiles for") {
  if (lacks_nvrtc()) return;
  const Nvrtc& nvrtc = Nvrtc::get();
  CHECK(&nvrtc == Nvrtc::try_get(nullptr));
  CHECK(std::filesystem::exists(nvrtc.path()));
  CHECK((nvrtc.major() > 12 || (nvrtc.major() == 12 && nvrtc.minor() >= 9)));
  const std::string prefix =
      std::to_string(nvrtc.major()) + "." + std::to_string(nvrtc.minor()) + ".";
  CHECK_MESSAGE(nvrtc.build().starts_with(prefix), nvrtc.build());
  CHECK(nvrtc.build().size() > prefix.size());
  const std::vector<int>& archs = nvrtc.supported_archs();
  for (const int arch : {80, 86, 90, 100, 120}) {
    CHECK(std::find(archs.begin(), archs.end(), arch) != archs.end());
  }
}

TEST_CASE("Compiling loads no CUDA driver") {
  if (lacks_nvrtc()) return;
  CompileJob job;
  job.name = "foo";
  job.text = "extern \"C\" __global__ void foo() {}\n";
  job.arch = &arch_by_name("sm_80");
  compile(job);
  CHECK(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr);
}

TEST_CASE("An NVRTC whose builtins are missing is refused by the name of what is missing") {
  if (lacks_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string copy = folder.file("libnvrtc.so.13");
  std::filesystem::copy_file(Nvrtc::get().path(), copy);
  // In a process where they were never loaded; the loader would otherwise find them by name.
  const std::string command =
      "QROW_NVRTC='" + copy + "' '" + std::filesystem::read_symlink("/proc/self/exe").string() +
      "' --test-case='Helper: says why NVRTC cannot be loaded' --no-skip > '" +
      folder.file("said") + "'";
  const int status = std::system(command.c_str());
  CHECK(status == 0);
  std::string said;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        std::fopen(folder.file("said").c_str(), "r"), &std::fclose);
    REQUIRE(file);
    for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get()))
      said += static_cast<char>(c);
  }
  // Where the loader's own search has them, nothing is missing.
  const bool loaded = said.find("loaded") != std::string::npos;
  const bool explained = said.find("its libnvrtc-builtins.so.") != std::string::npos &&
                         said.find(copy) != std::string::npos;
  CHECK_MESSAGE((loaded || explained), said);
}

TEST_CASE("Helper: says why NVRTC cannot be loaded" * doctest::skip()) {
  std::string why;
  std::printf("%s\n", Nvrtc::try_get(&why) != nullptr ? "loaded" : why.c_str());
  CHECK(true);
}

}  // namespace qrow
