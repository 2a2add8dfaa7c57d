/* Includes the header alone and calls every function that works without a GPU; prints what is
 * wrong, exits with the count. */
#include <qrow/qrow.h>

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("FAILED: %s; last error: %s\n", what, qrow_last_error());
}

int main(void) {
  check(
      qrow_version() == QROW_VERSION_MAJOR * 10000 + QROW_VERSION_MINOR * 100 + QROW_VERSION_PATCH,
      "version");
  check(strstr(qrow_build_info(), "templates") != NULL, "build info");
  check(strcmp(qrow_last_error(), "") == 0, "no error yet");
  check(strcmp(qrow_status_name(QROW_STATUS_NOT_CACHED), "NOT_CACHED") == 0, "status name");
  check(strcmp(qrow_status_name((qrow_status)77), "UNKNOWN") == 0, "unknown status name");

  qrow_spec spec = {.struct_size = sizeof spec};
  qrow_workload workload = {.struct_size = sizeof workload};
  check(qrow_spec_parse("batch=128 kv=e4m3 rows=4 heads=64/8 len=2048 tuning=num_stages:2", &spec,
                        &workload) == QROW_STATUS_OK,
        "parse");
  check(spec.num_q_heads == 64 && spec.num_kv_heads == 8 && spec.max_rows == 4 &&
            spec.kv_dtype == QROW_DTYPE_E4M3,
        "parsed spec");
  check(spec.scale == QROW_SCALE_TENSOR, "defaults are filled in");
  check(workload.batch == 128 && workload.max_kv_len == 2048 && workload.family == NULL,
        "parsed workload");
  check(workload.tuning != NULL && strcmp(workload.tuning, "num_stages:2") == 0, "parsed tuning");
  check(qrow_spec_parse("heads=64/8 colour=red", &spec, NULL) == QROW_STATUS_INVALID_ARGUMENT,
        "a wrong word");
  check(strstr(qrow_last_error(), "colour") != NULL, "the wrong word is named");

  char line[64];
  check(qrow_spec_format(&spec, line, sizeof line) == QROW_STATUS_OK &&
            strcmp(line, "heads=64/8 rows=4 kv=e4m3") == 0,
        "format");
  check(qrow_spec_format(&spec, line, 5) == QROW_STATUS_INVALID_ARGUMENT && strlen(line) == 4,
        "format into too little");

  qrow_context_options options;
  check(qrow_context_options_init(&options) == QROW_STATUS_OK &&
            options.struct_size == sizeof options,
        "options init");
  check(options.device == QROW_DEVICE_CURRENT, "default device");
  options.device = QROW_DEVICE_NONE;
  options.arch = "h200";
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = NULL;
  check(qrow_context_create(&options, &context) == QROW_STATUS_OK && context != NULL,
        "offline context");
  char reason[256];
  check(qrow_can_run(context, &spec, reason, sizeof reason) == QROW_STATUS_OK && reason[0] == '\0',
        "can run");
  qrow_stats stats = {.struct_size = sizeof stats};
  check(qrow_stats_get(context, &stats) == QROW_STATUS_OK && stats.compiles == 0, "stats");
  qrow_plan* plan = NULL;
  check(qrow_plan_create(context, &spec, NULL, &plan) == QROW_STATUS_NO_DEVICE && plan == NULL,
        "an offline context runs nothing");
  qrow_context_destroy(context);
  qrow_context_destroy(NULL);
  qrow_plan_destroy(NULL);

  qrow_prewarm_options prewarm = {.struct_size = sizeof prewarm};
  check(qrow_prewarm(&prewarm, &spec, 1, NULL, NULL, NULL) == QROW_STATUS_INVALID_ARGUMENT,
        "prewarm without an arch");
  printf(failures == 0 ? "all of the C program's checks hold\n" : "%d checks failed\n", failures);
  return failures;
}
