/* qrow: paged decode attention for few query rows per request, with GPU kernels generated at run time.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This is the only public header. It is C11, includes <stddef.h> and <stdint.h> alone and needs no CUDA header:
 * a stream is passed as `void*` (a CUstream or cudaStream_t), device memory as `const void*`.
 *
 * Words.    rows: query tokens of one request in this step. group: query heads per KV head. spec: what is computed.
 *           plan: a ready-to-launch object for one spec on one device.
 * Structs.  Each starts with `struct_size`: zero the struct and set it to sizeof(the struct), as in
 *           `qrow_spec spec = {.struct_size = sizeof spec}`. qrow_context_options alone has an `_init` function, which
 *           does that and chooses the current device. A smaller size from an older caller means defaults for the fields
 *           that it lacks; one above 4096 bytes is refused. Zero always means "default".
 * Errors.   Every function returns a qrow_status (destroy functions return nothing and accept NULL). The text of the
 *           calling thread's last error: qrow_last_error(). No exception, exit or print leaves the library.
 * Threads.  Any thread may use a context or a plan at any time. A plan is immutable and outlives its context.
 * Process.  Nothing is process-wide except the driver and compiler libraries, which are loaded when first needed.
 */
/* clang-format off: comments stand beside the fields that they explain. */
#ifndef QROW_QROW_H_
#define QROW_QROW_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QROW_API __attribute__((visibility("default")))
#else
#define QROW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define QROW_VERSION_MAJOR 0
#define QROW_VERSION_MINOR 1
#define QROW_VERSION_PATCH 0

/* ---- Status codes. The values are persisted and never renumbered. ---------------------------------------------- */

typedef enum qrow_status {
  QROW_STATUS_OK = 0,
  QROW_STATUS_INVALID_ARGUMENT = 1,    /* the text says what was asked, what was found, what to do */
  QROW_STATUS_UNSUPPORTED = 2,         /* the text gives each kernel family's reason */
  QROW_STATUS_NOT_CACHED = 3,          /* cache_only, or a stream under capture: the text gives the key and the prewarm line */
  QROW_STATUS_COMPILE_FAILED = 4,      /* the text ends with the compiler's log */
  QROW_STATUS_NO_COMPILER = 5,         /* NVRTC was not found: the text says where it was looked for */
  QROW_STATUS_NO_DEVICE = 6,           /* no driver, no such device, or an offline context was asked to run */
  QROW_STATUS_DRIVER = 7,              /* a CUDA driver call failed: its name, code and text */
  QROW_STATUS_WORKSPACE_TOO_SMALL = 8, /* bytes needed and bytes given */
  QROW_STATUS_DEADLINE = 9,
  QROW_STATUS_CANCELLED = 10,
  QROW_STATUS_CACHE = 11,              /* explicit cache operations only: a cache failure never fails a run */
  QROW_STATUS_OUT_OF_MEMORY = 12,
  QROW_STATUS_INTERNAL = 13
} qrow_status;

/* ---- Enumerations. Values are persisted in keys and files and never renumbered. -------------------------------- */

typedef enum qrow_dtype {
  QROW_DTYPE_DEFAULT = 0, /* q: bf16. kv: q's. out: bf16 */
  QROW_DTYPE_BF16 = 1,
  QROW_DTYPE_F16 = 2,
  QROW_DTYPE_F32 = 3,
  QROW_DTYPE_E4M3 = 4, /* 8-bit float, 4 exponent bits, no infinity ("fn") */
  QROW_DTYPE_E5M2 = 5,
  QROW_DTYPE_INT8 = 6
} qrow_dtype;

typedef enum qrow_scale { /* what one KV scale belongs to */
  QROW_SCALE_DEFAULT = 0, /* none for 16-bit KV, tensor for 8-bit KV */
  QROW_SCALE_NONE = 1,
  QROW_SCALE_TENSOR = 2,
  QROW_SCALE_HEAD = 3,      /* one per KV head */
  QROW_SCALE_TOKEN_HEAD = 4 /* one per token and KV head */
} qrow_scale;

typedef enum qrow_mask {
  QROW_MASK_CAUSAL = 0, /* row j of a request sees keys [0, kv_len - rows + j] */
  QROW_MASK_NONE = 1,   /* every row sees every key */
  QROW_MASK_TREE = 2,   /* bit words over the request's last rows; earlier keys are visible */
  QROW_MASK_LIMITS = 3  /* row_kv_begin and row_kv_lens per row */
} qrow_mask;

typedef enum qrow_lse { /* log-sum-exp output */
  QROW_LSE_OFF = 0,
  QROW_LSE_BASE_E = 1,
  QROW_LSE_BASE_2 = 2
} qrow_lse;

typedef enum qrow_numerics {
  QROW_NUMERICS_FAST = 0,
  QROW_NUMERICS_BATCH_INVARIANT = 1, /* a request's bits do not depend on its batch mates */
  QROW_NUMERICS_ROW_INVARIANT = 2    /* also: row j of an R-row call equals the 1-row call at that length */
} qrow_numerics;

typedef enum qrow_jit_mode {
  QROW_JIT_ON = 0,        /* a missing kernel is compiled on first use */
  QROW_JIT_CACHE_ONLY = 1 /* a missing kernel is QROW_STATUS_NOT_CACHED at once; the compiler is never loaded */
} qrow_jit_mode;

typedef enum qrow_tune_mode {
  QROW_TUNE_LOOKUP = 0,    /* use tuning records, never measure */
  QROW_TUNE_FIRST_USE = 1, /* measure when a plan is created, within tune_budget_ms */
  QROW_TUNE_OFF = 2        /* the built-in defaults only */
} qrow_tune_mode;

typedef enum qrow_cache_mode {
  QROW_CACHE_READ_WRITE = 0,
  QROW_CACHE_READ_ONLY = 1,
  QROW_CACHE_OFF = 2 /* kernels live as long as the context */
} qrow_cache_mode;

typedef enum qrow_log_level {
  QROW_LOG_ERROR = 1,
  QROW_LOG_WARNING = 2,
  QROW_LOG_INFO = 3,
  QROW_LOG_DEBUG = 4
} qrow_log_level;

/* Where a kernel came from. */
typedef enum qrow_source {
  QROW_SOURCE_COMPILED = 1,
  QROW_SOURCE_USER = 2,  /* the user's cache file */
  QROW_SOURCE_SEED = 3,  /* a read-only seed file */
  QROW_SOURCE_MEMORY = 4 /* made or loaded earlier in this context */
} qrow_source;

typedef enum qrow_tuning_source { QROW_TUNING_DEFAULT = 1, QROW_TUNING_NEAREST = 2, QROW_TUNING_EXACT = 3, QROW_TUNING_FORCED = 4 } qrow_tuning_source;

/* ---- Version and errors ---------------------------------------------------------------------------------------- */

QROW_API uint32_t qrow_version(void);         /* major * 10000 + minor * 100 + patch of the loaded library */
QROW_API const char* qrow_build_info(void);   /* one line: version, compiler, template digest; static storage */
QROW_API const char* qrow_status_name(qrow_status status); /* "INVALID_ARGUMENT"; "UNKNOWN" for other values */
QROW_API const char* qrow_last_error(void);   /* this thread's last error text, "" if none; valid until its next failing call */

/* ---- What is computed ------------------------------------------------------------------------------------------ */

typedef struct qrow_spec {
  uint32_t struct_size;
  int32_t num_q_heads;  /* required; a multiple of num_kv_heads */
  int32_t num_kv_heads; /* required */
  int32_t head_dim;     /* of Q and K, in elements; 0: 128 */
  int32_t head_dim_v;   /* of V and the output; 0: head_dim */
  int32_t max_rows;     /* query rows per request, compiled in; 0: 1 */
  int32_t page_size;    /* tokens per page, any integer from 1; 0: 64 */
  int32_t q_dtype;      /* qrow_dtype */
  int32_t kv_dtype;     /* qrow_dtype, of K and V alike */
  int32_t out_dtype;    /* qrow_dtype */
  int32_t scale;        /* qrow_scale */
  int32_t mask;         /* qrow_mask */
  int32_t window;       /* 1: sliding window; its width is an argument of the call */
  int32_t softcap;      /* 1: logit soft cap; its value is an argument of the call */
  int32_t sinks;        /* 1: attention sinks, one unscaled natural-log logit per query head */
  int32_t lse;          /* qrow_lse */
  int32_t partial;      /* 1: the result will be merged with others: O and LSE exclude the sink */
  int32_t numerics;     /* qrow_numerics */
} qrow_spec;

/* A class of calls, for choosing kernels. Fields that are 0 are unknown or automatic. */
typedef struct qrow_workload {
  uint32_t struct_size;
  int32_t batch;      /* requests */
  int32_t rows;       /* query rows per request; 0: max_rows */
  int64_t max_kv_len; /* longest request, KV tokens, new rows included */
  int64_t window;     /* width of the sliding window where spec.window is set */
  int32_t splits;     /* KV splits per request and head, forced; 0: automatic */
  int32_t reserved;
  const char* family; /* forces a kernel family; NULL: automatic */
  const char* tuning; /* forces axes, "tile_tokens:32,num_stages:3"; NULL: automatic */
} qrow_workload;

/* Reads a case line ("heads=64/8 rows=4 page=64 kv=e4m3 batch=128 len=2048"). `workload` may be NULL.
 * The workload's strings (family, tuning) point into storage owned by the calling thread, valid until its next
 * qrow_spec_parse. INVALID_ARGUMENT names the word that is wrong and lists what is legal. */
QROW_API qrow_status qrow_spec_parse(const char* line, qrow_spec* spec, qrow_workload* workload);
/* Writes the canonical case line of a spec (defaults left out), always terminated. INVALID_ARGUMENT if it does not fit. */
QROW_API qrow_status qrow_spec_format(const qrow_spec* spec, char* line, size_t line_bytes);

/* ---- Context --------------------------------------------------------------------------------------------------- */

typedef struct qrow_context qrow_context;
typedef struct qrow_plan qrow_plan;

/* Called from any thread that uses the library; must be thread-safe, must not call qrow. `text` ends without newline. */
typedef void (*qrow_log_callback)(void* user, qrow_log_level level, const char* text);

#define QROW_DEVICE_CURRENT (-1) /* the device of the calling thread's current CUDA context */
#define QROW_DEVICE_NONE (-2)    /* offline: no driver is touched; `arch` says what to compile for */

typedef struct qrow_context_options {
  uint32_t struct_size;
  int32_t device;              /* ordinal, QROW_DEVICE_CURRENT or QROW_DEVICE_NONE; set by _init to QROW_DEVICE_CURRENT */
  const char* arch;            /* with QROW_DEVICE_NONE: "sm_90a" or an alias ("90", "h200") */
  int32_t jit_mode;            /* qrow_jit_mode */
  int32_t tune_mode;           /* qrow_tune_mode */
  int32_t tune_budget_ms;      /* 0: 5000 */
  int32_t cache_mode;          /* qrow_cache_mode */
  const char* cache_path;      /* a directory (the file name is ours) or a file; NULL: QROW_CACHE, else the user's cache folder */
  const char* const* seed_paths; /* read-only cache files, asked in order before the user's file */
  int32_t num_seed_paths;
  int32_t compile_threads;     /* for prewarm; 0: as cores and memory allow */
  int32_t compile_deadline_ms; /* for one compilation; 0: none */
  int32_t log_level;           /* qrow_log_level; 0: warnings */
  qrow_log_callback log_callback; /* NULL: standard error */
  void* log_user;
} qrow_context_options;

QROW_API qrow_status qrow_context_options_init(qrow_context_options* options);
/* `options` may be NULL (defaults). For a device: NO_DEVICE if there is no driver or no such device. */
QROW_API qrow_status qrow_context_create(const qrow_context_options* options, qrow_context** context);
QROW_API void qrow_context_destroy(qrow_context* context);

/* Can this spec run here? Host only, never compiles. OK, or UNSUPPORTED with each family's reason in `reason`
 * (may be NULL; always terminated). */
QROW_API qrow_status qrow_can_run(qrow_context* context, const qrow_spec* spec, char* reason, size_t reason_bytes);

/* ---- The arguments of a call ----------------------------------------------------------------------------------- */

#define QROW_RUN_WORKSPACE_PREPARED 1u /* the workspace went through qrow_workspace_prepare */
#define QROW_RUN_PDL 2u                /* launch as programmatic dependant of the stream's previous kernel */
#define QROW_RUN_OLD_KV_READY 4u       /* keys before the new rows may be read before that kernel ends */

/* Bits set in *device_status (never cleared by qrow) where a device-side value breaks a host bound. */
#define QROW_DEVICE_KV_LEN_ABOVE_BOUND 1 /* a request is longer than max_kv_len: its rows are NaN */
#define QROW_DEVICE_ROWS_ABOVE_BOUND 2   /* a request has more rows than max_rows: the surplus rows are NaN */

/* All strides are in BYTES. All pointers are device memory. Shapes name elements in the order of their strides.
 * Unused table entries and KV slots at or after a request's length may hold anything and are never read into a result.
 * 16-bit and 8-bit rows are loaded 16 bytes at a time: q, k, v, out and their strides must be multiples of 16. */
typedef struct qrow_args {
  uint32_t struct_size;
  uint32_t flags;       /* QROW_RUN_... */
  int32_t batch;        /* requests; 0 is a legal no-op */
  int32_t rows;         /* query rows of every request; 0: max_rows */
  int64_t max_kv_len;   /* host upper bound of kv_lens */
  const void* q;        /* [batch * rows, num_q_heads, head_dim] */
  int64_t q_row_stride;
  int64_t q_head_stride;
  const float* q_scale; /* e4m3 Q: [batch * rows, num_q_heads] */
  int64_t q_scale_row_stride;
  int64_t q_scale_head_stride;
  const void* k;        /* [num_pages, page_size, num_kv_heads, head_dim] in any order of strides */
  int64_t k_page_stride;
  int64_t k_token_stride;
  int64_t k_head_stride;
  const void* v;        /* [num_pages, page_size, num_kv_heads, head_dim_v] */
  int64_t v_page_stride;
  int64_t v_token_stride;
  int64_t v_head_stride;
  int64_t num_pages;    /* of the pool; 0: unknown */
  void* out;            /* [batch * rows, num_q_heads, head_dim_v] */
  int64_t out_row_stride;
  int64_t out_head_stride;
  const int32_t* kv_lens;      /* [batch], on the device, new rows included; 0 is legal: output 0, LSE -inf */
  const int32_t* page_table;   /* dense: [batch, page_table_stride]; CSR: [page_indptr[batch]] */
  int64_t page_table_stride;   /* in ELEMENTS, dense only */
  const int32_t* page_indptr;  /* [batch + 1]: selects CSR; NULL: dense */
  const int32_t* v_page_table; /* NULL: page_table */
  int32_t index_bits;          /* 0 or 32; others are refused */
  int32_t reserved;
  const int32_t* q_indptr;     /* [batch + 1] for ragged rows; NULL: uniform */
  const int32_t* row_kv_lens;  /* mask limits: [batch * rows], keys seen end here */
  const int32_t* row_kv_begin; /* mask limits: [batch * rows], keys seen begin here; NULL: 0 */
  float softmax_scale;         /* multiplies q.k; 0: 1/sqrt(head_dim) */
  float softcap;               /* with spec.softcap: > 0 */
  int64_t window;              /* with spec.window: keys a row sees, its own included */
  const float* k_scale;        /* value = stored * scale; one element for scale tensor */
  int64_t k_scale_page_stride;
  int64_t k_scale_token_stride;
  int64_t k_scale_head_stride; /* scale head: bytes from one KV head to the next; 0 broadcasts */
  const float* v_scale;
  int64_t v_scale_page_stride;
  int64_t v_scale_token_stride;
  int64_t v_scale_head_stride;
  const float* sinks;          /* [num_q_heads] */
  const uint32_t* tree_mask;   /* [batch * rows, words]: bit i of word w: this row sees new row 32 w + i */
  int64_t tree_mask_row_stride;
  float* lse;                  /* [batch * rows, num_q_heads] */
  int64_t lse_row_stride;
  int64_t lse_head_stride;
  const void* schedule;        /* of qrow_plan_schedule; NULL: scheduled inside the kernel */
  int32_t* device_status;      /* one word, or NULL */
} qrow_args;

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

typedef struct qrow_plan_info {
  uint32_t struct_size;
  int32_t registers;     /* of the decode kernel, per thread */
  int32_t spill_bytes;   /* stores + loads; 0 in every kernel that qrow ships */
  int32_t stack_bytes;
  int32_t smem_bytes;    /* static + dynamic, per block */
  int32_t threads;       /* per block */
  int32_t blocks_per_sm;
  int32_t source;        /* qrow_source */
  int32_t tuning_source; /* qrow_tuning_source */
  int32_t reserved;
  const char* family;    /* these strings live as long as the plan */
  const char* tuning;    /* "tile_tokens:32,num_stages:3,..." */
  const char* key;       /* 32 hex digits of the decode kernel's key */
  const char* arch;      /* of the cubin */
} qrow_plan_info;

/* Chooses, compiles if need be and loads every kernel that a run may launch. `workload` NULL: the pick of every bucket
 * is prepared and the run chooses by its arguments. The current CUDA context must be that of the device.
 * Make plans before a stream capture begins. The function is given no stream, and the driver tells of a capture only
 * where it concerns the legacy stream: one of a blocking stream is noticed, and then only loaded kernels serve, else
 * NOT_CACHED. One of a non-blocking stream is not: the plan is made as at any time, compiling if need be. (The capture
 * goes on unharmed: loading a kernel ended none on an H200 with CUDA 13, whatever the streams, threads and modes.)
 * qrow_decode asks about its own stream and has no such gap. */
QROW_API qrow_status qrow_plan_create(qrow_context* context, const qrow_spec* spec, const qrow_workload* workload, qrow_plan** plan);
QROW_API void qrow_plan_destroy(qrow_plan* plan);
QROW_API qrow_status qrow_plan_info_get(const qrow_plan* plan, qrow_plan_info* info);
/* Bytes that a run within these bounds needs at most; monotonic in both. The workspace needs no zeroing, must be
 * 256-byte aligned and may be reused by the next call on the same stream. */
QROW_API qrow_status qrow_plan_workspace_bytes(const qrow_plan* plan, int32_t batch, int64_t max_kv_len, size_t* bytes);
/* Launches on `stream`. Never allocates, locks, compiles, synchronises or reads the environment; legal under capture. */
QROW_API qrow_status qrow_plan_run(const qrow_plan* plan, const qrow_args* args, void* workspace, size_t workspace_bytes, void* stream);

/* Once per step: the split schedule of a step, reusable by the run of every layer through args.schedule. */
QROW_API qrow_status qrow_plan_schedule_bytes(const qrow_plan* plan, int32_t batch, size_t* bytes);
QROW_API qrow_status qrow_plan_schedule(const qrow_plan* plan, const qrow_args* args, void* schedule, size_t schedule_bytes, void* stream);

/* ---- One call ---------------------------------------------------------------------------------------------------- */

QROW_API qrow_status qrow_workspace_bytes(qrow_context* context, const qrow_spec* spec, int32_t batch, int64_t max_kv_len, size_t* bytes);
/* A plan looked up or made on first use, then run. A hit does what qrow_plan_run does. Never tunes. */
QROW_API qrow_status qrow_decode(qrow_context* context, const qrow_spec* spec, const qrow_args* args, void* workspace, size_t workspace_bytes, void* stream);
/* Optional, once per workspace, capture-safe; see QROW_RUN_WORKSPACE_PREPARED. */
QROW_API qrow_status qrow_workspace_prepare(qrow_context* context, void* workspace, size_t bytes, void* stream);

/* ---- Merge ------------------------------------------------------------------------------------------------------- */

typedef struct qrow_merge_args {
  uint32_t struct_size;
  int32_t num_parts;
  int32_t num_rows;    /* batch * rows */
  int32_t num_heads;
  int32_t head_dim_v;
  int32_t in_dtype;    /* qrow_dtype of the parts */
  int32_t out_dtype;
  int32_t lse;         /* qrow_lse: base of the parts' and the result's LSE */
  const void* o;       /* [num_parts, num_rows, num_heads, head_dim_v] */
  int64_t o_part_stride, o_row_stride, o_head_stride;
  const float* part_lse; /* [num_parts, num_rows, num_heads] */
  int64_t part_lse_part_stride, part_lse_row_stride, part_lse_head_stride;
  const float* sinks;  /* [num_heads] or NULL; added once */
  void* out;
  int64_t out_row_stride, out_head_stride;
  float* lse_out;      /* NULL: not wanted */
  int64_t lse_row_stride, lse_head_stride;
} qrow_merge_args;

/* Combines partial results over disjoint key ranges. */
QROW_API qrow_status qrow_merge(qrow_context* context, const qrow_merge_args* args, void* stream);

/* ---- Prewarm and tune -------------------------------------------------------------------------------------------- */

typedef struct qrow_prewarm_item {
  uint32_t struct_size;
  int32_t index;       /* of this item, from 0 */
  int32_t count;       /* items in all */
  int32_t status;      /* qrow_status of this item */
  int32_t source;      /* qrow_source */
  int32_t registers, spill_bytes, stack_bytes, smem_bytes;
  int64_t cubin_bytes;
  double compile_ms;
  const char* case_line; /* strings are valid during the callback */
  const char* key;
  const char* arch;
  const char* family;
  const char* message; /* the reason where status is not OK, else "" */
} qrow_prewarm_item;

/* Return non-zero to cancel. May be called from several threads, never at the same time. */
typedef int (*qrow_prewarm_callback)(void* user, const qrow_prewarm_item* item);

typedef struct qrow_prewarm_options {
  uint32_t struct_size;
  int32_t num_archs;
  const char* const* archs; /* {"sm_90a", "sm_120a"} */
  const char* cache_path;   /* as in qrow_context_options */
  const char* const* seed_paths;
  int32_t num_seed_paths;
  int32_t compile_threads;
  int32_t compile_deadline_ms;
  int32_t refresh;          /* 1: recompile what another NVRTC build made */
  qrow_log_callback log_callback;
  void* log_user;
} qrow_prewarm_options;

typedef struct qrow_prewarm_report {
  uint32_t struct_size;
  int32_t items, compiled, hits, memory, failed;
  double seconds;
  int64_t cubin_bytes;
} qrow_prewarm_report;

/* Compiles every kernel that calls of these specs may launch into the cache. Needs no GPU and no driver.
 * Goes on after an item that fails; returns the first failure's status. */
QROW_API qrow_status qrow_prewarm(const qrow_prewarm_options* options, const qrow_spec* specs, size_t num_specs, qrow_prewarm_callback callback, void* user, qrow_prewarm_report* report);

typedef struct qrow_tune_options {
  uint32_t struct_size;
  int32_t budget_ms;
  int64_t memory_bytes;
} qrow_tune_options;
typedef struct qrow_tune_result {
  uint32_t struct_size;
  int32_t candidates;
  double default_us, best_us, noise_us;
} qrow_tune_result;
QROW_API qrow_status qrow_tune(qrow_context* context, const qrow_spec* spec, const qrow_workload* workload, const qrow_tune_options* options, qrow_tune_result* result);

/* ---- Cache files ------------------------------------------------------------------------------------------------- */

typedef struct qrow_cache_report {
  uint32_t struct_size;
  int32_t kernels; /* rows handled */
  int32_t tunings;
  int32_t bad;     /* rows refused or found damaged */
  int64_t bytes;   /* of their cubins */
} qrow_cache_report;

/* `cache_path` as in qrow_context_options; an import makes a cache that is not there, for the others that is
 * QROW_STATUS_CACHE. `arch` filters, NULL: all. `report` may be NULL.
 * An export or merge replaces a file that is there only if it is empty or itself a qrow file that nobody uses: anything
 * else is QROW_STATUS_CACHE and stays as it is. */
QROW_API qrow_status qrow_cache_export(const char* cache_path, const char* file, const char* arch, qrow_cache_report* report);
QROW_API qrow_status qrow_cache_import(const char* cache_path, const char* file, qrow_cache_report* report);
/* REQUIRES: at least one file. */
QROW_API qrow_status qrow_cache_merge(const char* out_file, const char* const* files, int32_t num_files, qrow_cache_report* report);
QROW_API qrow_status qrow_cache_verify(const char* cache_path, int32_t repair, qrow_cache_report* report);
QROW_API qrow_status qrow_cache_clear(const char* cache_path, qrow_cache_report* report);

/* ---- Counters ---------------------------------------------------------------------------------------------------- */

typedef struct qrow_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t memory_hits;    /* kernels found in this context */
  uint64_t seed_hits;
  uint64_t user_hits;
  uint64_t compiles;
  uint64_t compile_failures;
  uint64_t not_cached;     /* refusals by cache_only or capture */
  uint64_t miss_new_key;   /* misses by reason */
  uint64_t miss_corrupt;
  uint64_t miss_refused_by_driver;
  uint64_t miss_cache_unavailable;
  uint64_t cache_errors;   /* cache operations that failed and were worked around */
  uint64_t cubin_bytes_loaded;
  uint64_t launches;
  double compile_seconds;
  double load_seconds;
} qrow_stats;
QROW_API qrow_status qrow_stats_get(qrow_context* context, qrow_stats* stats);

#ifdef __cplusplus
}
#endif
#endif /* QROW_QROW_H_ */
