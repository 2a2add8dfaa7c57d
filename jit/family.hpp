// The interface that a kernel family implements. jit knows no kernel: everything a family says here
// is names and ints, from which the entry text, the key, the export and `explain` are made.
//
// A family is one kernel template with its kernel spec and tuning space. Families are stateless
// constants, usable from any thread; the ordered list is templates/families.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/arch.hpp"
#include "jit/spec.hpp"
#include "runtime/base/error.hpp"

namespace qrow {

struct DecodeParams;  // templates/common/params.cuh

// One field of a kernel spec or of a tuning, as generated code names it.
struct NamedInt {
  std::string_view name;  // static storage
  int value;
  bool operator==(const NamedInt&) const = default;
};

// One axis of a family's tuning space.
struct AxisInfo {
  std::string_view name;
  std::span<const int> values;  // legal values, the order is the tie order
  std::string_view help;
};

// Values in the order of Family::axes().
using Tuning = std::vector<int>;

// One (family, kernel spec, tuning, arch): everything that makes a cubin.
struct Variant {
  std::string family;          // "decode_mma"; also the folder under templates/
  std::string spec_type;       // "DecodeMmaSpec"
  std::string tuning_type;     // "DecodeMmaTuning"
  std::string params_type;     // "DecodeParams"
  std::vector<NamedInt> spec;  // the kernel spec
  std::vector<NamedInt> tuning;
  const Arch* arch = nullptr;
  int register_cap = 0;         // __maxnreg__; 0: unset
  int threads = 0;              // per block
  int smem_bytes = 0;           // dynamic, per block; asserted in the entry where has_smem_check
  bool has_smem_check = false;  // the template defines qrow::smem_bytes(spec, tuning)
};

struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 0;
  unsigned smem_bytes = 0;
};

// What a plan keeps of an attention kernel: plain numbers, so that the run path only computes.
struct Geometry {
  int threads = 0;
  int smem_bytes = 0;
  int blocks_per_sm = 1;     // the grid is at most num_sms * blocks_per_sm
  int column_tiles = 1;      // blocks that share one (request, KV head), each with its own columns
  int columns_per_tile = 0;  // padded; rows of a partial result
  int head_dim_v = 0;
  int step_tokens = 0;    // KV tokens that a block takes at a time: the grain of the partition
  bool splits_kv = true;  // false: writes the output itself, no combine kernel
};

class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;
  // "attention" families compute a spec; "combine" merges their partial results; "tool" kernels
  // serve tests and benchmarks.
  enum class Role { attention, combine, tool };
  virtual Role role() const = 0;
  // Raised when records of older tunings no longer apply.
  virtual int tuning_version() const = 0;
  virtual std::span<const AxisInfo> axes() const = 0;

  // May this family compute `spec` on `arch`, and if not, why.
  virtual Support supports(const Spec& spec, const Arch& arch) const = 0;
  // Lower is preferred; asked only where supports() is able. Like the default tuning it may look at
  // anything but spec.max_rows: the rows of a call are the bucket's, and a list of specs that
  // differ in max_rows alone asks once for each number of rows.
  virtual int rank(const Spec& spec, const Arch& arch, const Bucket& bucket) const = 0;
  virtual Tuning default_tuning(const Spec& spec, const Arch& arch, const Bucket& bucket) const = 0;
  // Is this point of the tuning space legal (shared memory, divisibility)? One function for host,
  // tools and tests.
  virtual Support legal(const Spec& spec, const Tuning& tuning, const Arch& arch) const = 0;
  // REQUIRES: supports and legal.
  virtual Variant variant(const Spec& spec, const Tuning& tuning, const Arch& arch) const = 0;
  virtual Geometry geometry(const Spec& spec, const Tuning& tuning, const Arch& arch) const = 0;
};

// "tile_tokens:32,num_stages:3" over the axes of `family`; axes left out keep the value in `base`.
// Throws Error(invalid_argument) naming the axis and its legal values.
Tuning parse_tuning(const Family& family, std::string_view text, Tuning base);
std::string format_tuning(const Family& family, const Tuning& tuning);

}  // namespace qrow
