#include "jit/nvrtc_search.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "runtime/base/env.hpp"
#include "runtime/base/error.hpp"

namespace qrow {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSoname = "libnvrtc.so";

// The numbers at the end of a name, "libnvrtc.so.13.0.88" -> {13, 0, 88}: newer sorts higher.
std::vector<int> numbers_after(std::string_view name, std::string_view prefix) {
  std::vector<int> numbers;
  std::string_view rest = name.substr(std::min(prefix.size(), name.size()));
  while (!rest.empty()) {
    if (rest.front() == '.' || rest.front() == '-') rest.remove_prefix(1);
    int number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  return numbers;
}

// Entries of a folder whose names start with `prefix`, the highest numbers first. Empty if there is
// no such folder.
std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end(), [prefix](const fs::path& a, const fs::path& b) {
    const auto x = numbers_after(a.filename().string(), prefix),
               y = numbers_after(b.filename().string(), prefix);
    return x != y ? x > y : a < b;
  });
  return found;
}

// The libraries in one folder. Of a file and its links one is enough: they differ only in name.
void add_libraries(const fs::path& folder, std::vector<std::string>& files) {
  std::vector<fs::path> targets;
  for (const fs::path& file : entries(folder, kSoname)) {
    std::error_code error;
    const fs::path target = fs::canonical(file, error);
    if (error || std::find(targets.begin(), targets.end(), target) != targets.end()) continue;
    targets.push_back(target);
    files.push_back(file.string());
  }
}

// The wheels' layout below a folder that holds `nvidia`: nvidia/cu13/lib, nvidia/cuda_nvrtc/lib.
void add_wheels(const fs::path& folder, std::vector<std::string>& files) {
  for (const fs::path& package : entries(folder / "nvidia", "cu"))
    add_libraries(package / "lib", files);
}

void add_toolkit(const fs::path& folder, std::vector<std::string>& files) {
  for (const char* name : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    const std::size_t before = files.size();
    add_libraries(folder / name, files);
    if (files.size() > before) return;
  }
}

// site-packages below the root of a Python environment.
void add_environment(const fs::path& root, std::vector<std::string>& files) {
  add_libraries(root / "lib", files);
  for (const fs::path& python : entries(root / "lib", "python"))
    add_wheels(python / "site-packages", files);
}

// Whether `folder` belongs to the owner of our own code or to root and nobody else may write there:
// a library found by walking up must not come from what somebody planted, say in /tmp.
bool is_trusted(const fs::path& folder, const fs::path& object) {
  struct stat of_folder {};
  struct stat of_object {};
  if (::stat(folder.c_str(), &of_folder) != 0 || ::stat(object.c_str(), &of_object) != 0)
    return false;
  const bool owned = of_folder.st_uid == 0 || of_folder.st_uid == of_object.st_uid;
  return owned && (of_folder.st_mode & S_IWOTH) == 0;
}

// `.deps` of a checkout, where its set-up puts wheels: .deps/<name>/nvidia or
// .deps/<name>/lib/pythonX/site-packages/nvidia.
void add_deps(const fs::path& deps, std::vector<std::string>& files) {
  add_wheels(deps, files);
  for (const fs::path& tree : entries(deps, "")) {
    add_wheels(tree, files);
    add_environment(tree, files);
  }
}

std::vector<NvrtcPlace> places_above(const fs::path& object) {
  std::vector<NvrtcPlace> places;
  for (fs::path folder = object.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    NvrtcPlace place{fmt::format("{} and its lib, .deps and nvidia folders", folder.string()), {}};
    if (is_trusted(folder, object)) add_libraries(folder, place.files);
    if (is_trusted(folder / "lib", object)) add_libraries(folder / "lib", place.files);
    if (is_trusted(folder / "nvidia", object)) add_wheels(folder, place.files);
    if (is_trusted(folder / ".deps", object)) add_deps(folder / ".deps", place.files);
    if (!place.files.empty()) places.push_back(place);
  }
  if (places.empty()) places.push_back({fmt::format("the folders above {}", object.string()), {}});
  return places;
}

// dladdr gives the file as it was loaded; the executable itself may be known by a name without a
// folder.
std::string path_of_this_code() {
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&nvrtc_places), &info) != 0 &&
      info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).find('/') != std::string_view::npos) {
    const fs::path path = fs::canonical(info.dli_fname, error);
    if (!error && fs::is_regular_file(path, error)) return path.string();
  }
  const fs::path path = fs::canonical("/proc/self/exe", error);
  return error ? "" : path.string();
}

}  // namespace

NvrtcSurroundings NvrtcSurroundings::of_process() {
  NvrtcSurroundings here;
  here.chosen = env("QROW_NVRTC");
  here.object_path = path_of_this_code();
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const auto value = foreign_env(name)) here.toolkits.push_back(*value);
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto value = foreign_env(name)) here.environments.push_back(*value);
  }
  return here;
}

std::vector<NvrtcPlace> nvrtc_places(const NvrtcSurroundings& here) {
  if (here.chosen) {
    NvrtcPlace place{fmt::format("QROW_NVRTC={}", *here.chosen), {}};
    std::error_code error;
    if (fs::is_directory(*here.chosen, error)) {
      add_libraries(*here.chosen, place.files);
    } else {
      place.files.push_back(*here.chosen);
    }
    return {place};
  }
  std::vector<NvrtcPlace> places{
      {"the loader's own search", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}}};
  for (NvrtcPlace& place : places_above(here.object_path)) places.push_back(std::move(place));
  for (const std::string& folder : here.toolkits) {
    add_toolkit(
        folder,
        places.emplace_back(NvrtcPlace{fmt::format("the CUDA toolkit at {}", folder), {}}).files);
  }
  NvrtcPlace& system =
      places.emplace_back(NvrtcPlace{fmt::format("{}/cuda*", here.system_root), {}});
  add_toolkit(fs::path(here.system_root) / "cuda", system.files);
  for (const fs::path& folder : entries(here.system_root, "cuda-"))
    add_toolkit(folder, system.files);
  for (const std::string& root : here.environments) {
    add_environment(
        root,
        places.emplace_back(NvrtcPlace{fmt::format("the Python environment {}", root), {}}).files);
  }
  return places;
}

}  // namespace qrow
