#include "runtime/public_spec.hpp"

#include "runtime/case.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

int or_default(int value, int fallback) { return value != 0 ? value : fallback; }

int enumerator(const char* field, int value, int last) {
  if (value < 0 || value > last) {
    fail(Status::invalid_argument, "spec.{} is {}: the values are 0 to {} (qrow.h)", field, value,
         last);
  }
  return value;
}

int flag(const char* field, int value) { return enumerator(field, value, 1); }

}  // namespace

Spec to_spec(const qrow_spec& s) {
  Spec spec;
  spec.num_q_heads = s.num_q_heads;
  spec.num_kv_heads = s.num_kv_heads;
  spec.head_dim = or_default(s.head_dim, 128);
  spec.head_dim_v = or_default(s.head_dim_v, spec.head_dim);
  spec.max_rows = or_default(s.max_rows, 1);
  spec.page_size = or_default(s.page_size, 64);
  spec.q_dtype =
      or_default(enumerator("q_dtype", s.q_dtype, QROW_DTYPE_INT8), static_cast<int>(DType::bf16));
  spec.kv_dtype = or_default(enumerator("kv_dtype", s.kv_dtype, QROW_DTYPE_INT8),
                             default_kv_dtype(spec.q_dtype));
  spec.out_dtype = or_default(enumerator("out_dtype", s.out_dtype, QROW_DTYPE_INT8),
                              static_cast<int>(DType::bf16));
  const int scale = enumerator("scale", s.scale, QROW_SCALE_TOKEN_HEAD);
  spec.scale = scale != 0 ? static_cast<Scale>(scale) : default_scale(spec.kv_dtype);
  spec.mask = static_cast<Mask>(enumerator("mask", s.mask, QROW_MASK_LIMITS));
  spec.window = flag("window", s.window);
  spec.softcap = flag("softcap", s.softcap);
  spec.sinks = flag("sinks", s.sinks);
  spec.lse = static_cast<Lse>(enumerator("lse", s.lse, QROW_LSE_BASE_2));
  spec.partial = flag("partial", s.partial);
  spec.numerics =
      static_cast<Numerics>(enumerator("numerics", s.numerics, QROW_NUMERICS_ROW_INVARIANT));
  check_spec(spec);
  return spec;
}

qrow_spec from_spec(const Spec& spec) {
  qrow_spec s{};
  s.struct_size = sizeof(s);
  s.num_q_heads = spec.num_q_heads;
  s.num_kv_heads = spec.num_kv_heads;
  s.head_dim = spec.head_dim;
  s.head_dim_v = spec.head_dim_v;
  s.max_rows = spec.max_rows;
  s.page_size = spec.page_size;
  s.q_dtype = spec.q_dtype;
  s.kv_dtype = spec.kv_dtype;
  s.out_dtype = spec.out_dtype;
  s.scale = static_cast<int>(spec.scale);
  s.mask = static_cast<int>(spec.mask);
  s.window = spec.window;
  s.softcap = spec.softcap;
  s.sinks = spec.sinks;
  s.lse = static_cast<int>(spec.lse);
  s.partial = spec.partial;
  s.numerics = static_cast<int>(spec.numerics);
  return s;
}

}  // namespace qrow
