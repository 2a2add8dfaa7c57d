// What the architecture offers, as named by jit/arch.def; generated code fills it in. Device code
// branches on these.
#pragma once

namespace qrow {

struct Target {
  int e4m3_convert;         // cvt.rn.f16x2.e4m3x2 exists
  int programmatic_launch;  // griddepcontrol exists
};

}  // namespace qrow
