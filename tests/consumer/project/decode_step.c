/* The README's example, compiled. Without a device it shows that an offline context refuses to run.
 */
#include <qrow/qrow.h>
#include <stdio.h>
#include <string.h>

/* README: begin */
/* One attention layer of one step. bf16 Q and output [batch * 4, 64, 128]; an e4m3 KV cache in
 * pages of 64 tokens, [num_pages, 64, 8, 128]; every pointer lies on the device. */
qrow_status decode_step(qrow_context* context, void* stream, int batch, int64_t max_kv_len,
                        const void* q, const void* k_cache, const void* v_cache,
                        const int32_t* kv_lens, const int32_t* page_table,
                        int64_t pages_per_request, const float* k_scale, const float* v_scale,
                        void* out, void* workspace, size_t workspace_bytes) {
  qrow_spec spec = {.struct_size = sizeof spec};
  spec.num_q_heads = 64;
  spec.num_kv_heads = 8;
  spec.max_rows = 4; /* one token and three drafted ones */
  spec.kv_dtype = QROW_DTYPE_E4M3;

  qrow_args args = {.struct_size = sizeof args};
  args.batch = batch;
  args.max_kv_len = max_kv_len; /* an upper bound: the lengths themselves stay on the device */
  args.q = q;
  args.q_row_stride = 64 * 128 * 2; /* all strides in bytes */
  args.q_head_stride = 128 * 2;
  args.k = k_cache;
  args.k_page_stride = 64 * 8 * 128;
  args.k_token_stride = 8 * 128;
  args.k_head_stride = 128;
  args.v = v_cache;
  args.v_page_stride = 64 * 8 * 128;
  args.v_token_stride = 8 * 128;
  args.v_head_stride = 128;
  args.out = out;
  args.out_row_stride = 64 * 128 * 2;
  args.out_head_stride = 128 * 2;
  args.kv_lens = kv_lens; /* the new tokens included */
  args.page_table = page_table;
  args.page_table_stride = pages_per_request;
  args.k_scale = k_scale;
  args.v_scale = v_scale;
  return qrow_decode(context, &spec, &args, workspace, workspace_bytes, stream);
}
/* README: end */

int main(void) {
  qrow_context_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  qrow_context_options_init(&options);
  options.device = QROW_DEVICE_NONE;
  options.arch = "sm_90a";
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = NULL;
  if (qrow_context_create(&options, &context) != QROW_STATUS_OK) return 1;
  void* somewhere = (void*)0x10000; /* never followed: there is no device */
  const qrow_status status =
      decode_step(context, NULL, 1, 64, somewhere, somewhere, somewhere, somewhere, somewhere, 1,
                  somewhere, somewhere, somewhere, somewhere, (size_t)1 << 30);
  printf("%s: %s\n", qrow_status_name(status), qrow_last_error());
  qrow_context_destroy(context);
  return status == QROW_STATUS_NO_DEVICE ? 0 : 1;
}
