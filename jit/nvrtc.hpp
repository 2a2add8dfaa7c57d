// NVRTC, found and loaded at run time (12.9 and later). One instance serves the process; it is
// never unloaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace qrow {

struct NvrtcFunctions;  // jit/nvrtc_program.hpp
struct NvrtcPlace;      // jit/nvrtc_search.hpp

class Nvrtc {
 public:
  // Loads on the first call; later calls return the same instance, or fail the same way. Looks at
  // the places of jit/nvrtc_search.hpp in order. Throws Error(no_compiler) listing what was looked
  // for where.
  static const Nvrtc& get();
  // The same without throwing: null, and `*why` (may be null) tells where it was looked for.
  static const Nvrtc* try_get(std::string* why);
  // What get() does once: the first usable library of `places`, or null with `*why`. For tests and
  // tools; any number of instances may exist.
  static std::unique_ptr<Nvrtc> load(const std::vector<NvrtcPlace>& places, std::string* why);

  ~Nvrtc();
  const std::string& path() const;
  int major() const;
  int minor() const;
  // Identifies the compiler build, with the patch level: "13.0.88".
  const std::string& build() const;
  // The numbers NVRTC itself reports: 80, 86, 90, ...
  const std::vector<int>& supported_archs() const;

  const NvrtcFunctions& functions() const;

 private:
  Nvrtc();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qrow
