// Where NVRTC may lie, in the order in which it is tried. Looks at folders only; loads nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace qrow {

// One place: what it is, for the message, and what to load from it.
struct NvrtcPlace {
  std::string what;  // "the folder of CUDA_PATH, /opt/cuda"
  std::vector<std::string>
      files;  // paths, or bare names for the loader's own search; may be empty: nothing found there
};

// What the search depends on, so that a test can state it.
struct NvrtcSurroundings {
  std::optional<std::string>
      chosen;  // QROW_NVRTC: a library, or a folder that holds it; nothing else is tried then
  std::string object_path;                 // of the library or executable that holds this code
  std::vector<std::string> toolkits;       // CUDA_PATH, CUDA_HOME
  std::string system_root = "/usr/local";  // holds cuda, cuda-13.0, ...
  std::vector<std::string> environments;   // of Python: VIRTUAL_ENV, CONDA_PREFIX

  static NvrtcSurroundings of_process();
};

// QROW_NVRTC alone if set; else the loader's own search, the folders above the object (its own,
// `lib`, `.deps` of a checkout, `nvidia` of a Python environment), the toolkits, the system's
// toolkits newest first, the Python environments.
std::vector<NvrtcPlace> nvrtc_places(const NvrtcSurroundings& surroundings);

}  // namespace qrow
