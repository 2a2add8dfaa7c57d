// The parameters of every attention kernel and of combine: compiled by the host compiler and by
// NVRTC.
//
// Strides are bytes. Filled by runtime/launch.cpp from qrow_args; pointers are device memory.
#pragma once

namespace qrow {

// Bits of *device_status. Equal to QROW_DEVICE_... (asserted in runtime/c_api.cpp).
inline constexpr int kStatusKvLenAboveBound = 1;

struct DecodeParams {
  const void* q;  // [batch * rows, q heads, head_dim]
  long long q_row_stride;
  long long q_head_stride;
  const void* k;  // [pages, page_size, kv heads, head_dim]
  long long k_page_stride;
  long long k_token_stride;
  long long k_head_stride;
  const void* v;  // [pages, page_size, kv heads, head_dim_v]
  long long v_page_stride;
  long long v_token_stride;
  long long v_head_stride;
  void* out;  // [batch * rows, q heads, head_dim_v]
  long long out_row_stride;
  long long out_head_stride;
  float* lse;  // [batch * rows, q heads], or null
  long long lse_row_stride;
  long long lse_head_stride;
  const int* kv_lens;           // [batch]
  const int* page_table;        // [batch, page_table_stride]
  const int* v_page_table;      // the same as page_table unless V has its own
  long long page_table_stride;  // elements
  const float* k_scale;         // [1] or [kv heads], null without scales
  const float* v_scale;
  long long k_scale_head_stride;
  long long v_scale_head_stride;
  int* device_status;  // or null
  float* partial_o;    // workspace, see partition.cuh
  float* partial_lse;
  int* merge_records;
  float softmax_scale;
  float lse_unit;  // what a log2 is multiplied by for the LSE output: 1 (base 2) or ln 2 (base e)
  int batch;
  int rows;  // query rows of every request, <= the compiled maximum
  int num_kv_heads;
  int max_kv_len;  // host bound
  int num_blocks;  // blocks of the attention kernel
  int splits;  // 0: equal shares of all steps (partition.cuh); n: every unit in exactly n pieces,
               // num_blocks = units * n
  int heads_abreast;  // partition.cuh
  int column_tiles;   // of the attention kernel, for combine
  int columns_per_tile;
};

}  // namespace qrow
