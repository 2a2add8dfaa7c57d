// Data types of tensors: enumerators, sizes. Persisted: the values equal qrow_dtype (asserted in
// runtime/c_api.cpp).
#pragma once

namespace qrow {

enum class DType : int { bf16 = 1, f16 = 2, f32 = 3, e4m3 = 4, e5m2 = 5, int8 = 6 };

constexpr int size_of(DType type) {
  return type == DType::f32 ? 4 : type == DType::bf16 || type == DType::f16 ? 2 : 1;
}

}  // namespace qrow
