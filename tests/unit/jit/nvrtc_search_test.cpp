#include "jit/nvrtc_search.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "jit/nvrtc.hpp"
#include "runtime/base/file.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

void put_library(const TemporaryFolder& folder, const std::string& path) {
  const std::filesystem::path file = folder.file(path);
  std::filesystem::create_directories(file.parent_path());
  write_file(file.string(), "no library, only a name: " + path);
}

NvrtcSurroundings nothing_in(const TemporaryFolder& folder) {
  NvrtcSurroundings here;
  here.object_path = folder.file("checkout/build/dev/bin/qrow");
  put_library(folder, "checkout/build/dev/bin/qrow");
  here.system_root = folder.file("local");
  return here;
}

// The files of all places in order, relative to the folder; the loader's own names are left out.
std::vector<std::string> found(const TemporaryFolder& folder, const NvrtcSurroundings& here) {
  std::vector<std::string> files;
  for (const NvrtcPlace& place : nvrtc_places(here)) {
    for (const std::string& file : place.files) {
      if (file.starts_with(folder.path())) files.push_back(file.substr(folder.path().size() + 1));
    }
  }
  return files;
}

using Files = std::vector<std::string>;

}  // namespace

TEST_CASE("A chosen NVRTC is the only place, be it a file or a folder") {
  const TemporaryFolder folder;
  put_library(folder, "mine/libnvrtc.so.13");
  put_library(folder, "local/cuda/lib64/libnvrtc.so.13");
  NvrtcSurroundings here = nothing_in(folder);
  here.chosen = folder.file("mine");
  CHECK(found(folder, here) == Files{"mine/libnvrtc.so.13"});
  here.chosen = folder.file("mine/libnvrtc.so.12");
  CHECK(found(folder, here) == Files{"mine/libnvrtc.so.12"});
  CHECK(nvrtc_places(here).size() == 1);
}

TEST_CASE(
    "The loader comes first, then the checkout, the toolkits, the system and the environments") {
  const TemporaryFolder folder;
  NvrtcSurroundings here = nothing_in(folder);
  put_library(folder, "checkout/.deps/python/nvidia/cu13/lib/libnvrtc.so.13");
  put_library(folder, "toolkit/lib64/libnvrtc.so.12");
  put_library(folder, "local/cuda-12.9/lib64/libnvrtc.so.12");
  put_library(folder, "local/cuda-13.0/lib64/libnvrtc.so.13");
  put_library(folder, "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  here.toolkits = {folder.file("toolkit")};
  here.environments = {folder.file("venv")};
  CHECK(nvrtc_places(here).front().files.front() == "libnvrtc.so.13");
  CHECK(found(folder, here) ==
        Files{"checkout/.deps/python/nvidia/cu13/lib/libnvrtc.so.13",
              "toolkit/lib64/libnvrtc.so.12", "local/cuda-13.0/lib64/libnvrtc.so.13",
              "local/cuda-12.9/lib64/libnvrtc.so.12",
              "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"});
}

TEST_CASE("A library installed into a Python environment finds the wheel beside it") {
  const TemporaryFolder folder;
  NvrtcSurroundings here = nothing_in(folder);
  put_library(folder, "site-packages/qrow/libqrow.so.0");
  put_library(folder, "site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  here.object_path = folder.file("site-packages/qrow/libqrow.so.0");
  CHECK(found(folder, here) == Files{"site-packages/nvidia/cu13/lib/libnvrtc.so.13"});
}

TEST_CASE("Of a library and its links one is tried, newer versions first, other libraries never") {
  const TemporaryFolder folder;
  NvrtcSurroundings here = nothing_in(folder);
  put_library(folder, "mine/libnvrtc.so.13.0.88");
  put_library(folder, "mine/libnvrtc.so.12.9.86");
  put_library(folder, "mine/libnvrtc-builtins.so.13.0");
  put_library(folder, "mine/libnvrtc.alt.so.13");
  std::filesystem::create_symlink("libnvrtc.so.13.0.88", folder.file("mine/libnvrtc.so.13"));
  here.chosen = folder.file("mine");
  CHECK(found(folder, here) == Files{"mine/libnvrtc.so.13.0.88", "mine/libnvrtc.so.12.9.86"});
}

TEST_CASE("A folder that anybody may write to is not searched on the way up") {
  const TemporaryFolder folder;
  const NvrtcSurroundings here = nothing_in(folder);
  put_library(folder, "checkout/.deps/python/nvidia/cu13/lib/libnvrtc.so.13");
  CHECK(found(folder, here).size() == 1);
  REQUIRE(::chmod(folder.file("checkout/.deps").c_str(), 0777) == 0);
  CHECK(found(folder, here).empty());
}

TEST_CASE("An NVRTC that is nowhere gives a message that names every place and what to do") {
  const TemporaryFolder folder;
  NvrtcSurroundings here = nothing_in(folder);
  put_library(folder, "toolkit/lib64/libnvrtc.so.13");
  here.toolkits = {folder.file("toolkit"), folder.file("missing")};
  std::vector<NvrtcPlace> places = nvrtc_places(here);
  std::erase_if(places,
                [](const NvrtcPlace& place) { return place.what == "the loader's own search"; });
  std::string why;
  CHECK(Nvrtc::load(places, &why) == nullptr);
  for (const std::string& part :
       {std::string("12.9 or later"), folder.file("toolkit/lib64/libnvrtc.so.13") + ": ",
        "the CUDA toolkit at " + folder.file("missing") + ": no libnvrtc.so",
        folder.file("local/cuda*"), std::string("set QROW_NVRTC")}) {
    CHECK_MESSAGE(why.find(part) != std::string::npos, why);
  }
}

}  // namespace qrow
