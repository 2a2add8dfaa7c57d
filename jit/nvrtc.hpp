// NVRTC, found and loaded at run time (12.9 and later). One instance serves the process; it is never unloaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace qrow {

class Nvrtc {
 public:
  // Loads on the first call; later calls return the same instance. Looks at QROW_NVRTC (alone if set), the loader's own
  // search, the folder of this library's checkout or install, CUDA_PATH, /usr/local/cuda*, and the nvidia wheels of the
  // Python environment. Throws Error(no_compiler) listing what was looked for where.
  static const Nvrtc& get();
  // The same without throwing: null, and `*why` (may be null) tells where it was looked for.
  static const Nvrtc* try_get(std::string* why);

  ~Nvrtc();
  const std::string& path() const;
  int major() const;
  int minor() const;
  // Identifies the compiler build, with the patch level: "13.0.88".
  const std::string& build() const;
  // The numbers NVRTC itself reports: 80, 86, 90, ...
  const std::vector<int>& supported_archs() const;

  struct Functions;  // nvrtc_functions.def
  const Functions& functions() const;

 private:
  Nvrtc();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qrow
