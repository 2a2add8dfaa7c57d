/* What a host without a GPU can ask: may this spec run on that arch, and why not. */
#include <qrow/qrow.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  qrow_spec spec;
  qrow_workload workload;
  memset(&spec, 0, sizeof spec);
  memset(&workload, 0, sizeof workload);
  spec.struct_size = sizeof spec;
  workload.struct_size = sizeof workload;
  const char* line = "heads=64/8 rows=4 page=64 kv=e4m3 batch=128 len=2048";
  if (qrow_spec_parse(line, &spec, &workload) != QROW_STATUS_OK) {
    fprintf(stderr, "parse: %s\n", qrow_last_error());
    return 1;
  }

  qrow_context_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  qrow_context_options_init(&options);
  options.device = QROW_DEVICE_NONE;
  options.arch = "sm_90a";
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = NULL;
  if (qrow_context_create(&options, &context) != QROW_STATUS_OK) {
    fprintf(stderr, "context: %s\n", qrow_last_error());
    return 1;
  }

  char reason[1024];
  const qrow_status status = qrow_can_run(context, &spec, reason, sizeof reason);
  printf("qrow %u: %s: %s %s\n", (unsigned)qrow_version(), line, qrow_status_name(status), reason);
  qrow_context_destroy(context);
  return status == QROW_STATUS_OK && spec.max_rows == 4 && workload.batch == 128 ? 0 : 1;
}
