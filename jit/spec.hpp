// The public spec in C++: what is computed, ints only. qrow_spec of the C API with every default
// filled in. Enumerators equal the C API's values (asserted in runtime/c_api.cpp); data types are
// those of templates/common/dtype.cuh.
#pragma once

#include "runtime/base/error.hpp"

namespace qrow {

enum class Scale : int { none = 1, tensor = 2, head = 3, token_head = 4 };
enum class Mask : int { causal = 0, none = 1, tree = 2, limits = 3 };
enum class Lse : int { off = 0, base_e = 1, base_2 = 2 };
enum class Numerics : int { fast = 0, batch_invariant = 1, row_invariant = 2 };

struct Spec {
  int num_q_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 128;
  int head_dim_v = 128;
  int max_rows = 1;
  int page_size = 64;
  int q_dtype = 1;  // qrow::DType
  int kv_dtype = 1;
  int out_dtype = 1;
  Scale scale = Scale::none;
  Mask mask = Mask::causal;
  int window = 0;  // flags: 0 or 1
  int softcap = 0;
  int sinks = 0;
  Lse lse = Lse::off;
  int partial = 0;
  Numerics numerics = Numerics::fast;

  int group() const { return num_q_heads / num_kv_heads; }
  int columns() const { return max_rows * group(); }
  bool operator==(const Spec&) const = default;
};

// A class of workloads for which one tuning is chosen: batch and kv length rounded up to powers of
// two, rows exact.
struct Bucket {
  int batch = 1;
  long long kv_len = 4096;  // effective: min(len, window + rows)
  int rows = 1;
  bool operator==(const Bucket&) const = default;
};

}  // namespace qrow
