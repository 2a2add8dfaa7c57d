// The checks of qrow_args that need no kernel. Every message names the field, what was found and
// what to do; the texts are made only when a check fails.
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/launch.hpp"

namespace qrow {
namespace {

constexpr std::uint32_t kKnownFlags =
    QROW_RUN_WORKSPACE_PREPARED | QROW_RUN_PDL | QROW_RUN_OLD_KV_READY;
constexpr unsigned kRowAlignment = 16;  // rows are loaded 16 bytes at a time

struct Pointer {
  const char* name;
  const void* value;
  unsigned alignment;
};

void require(const Pointer& pointer) {
  if (pointer.value == nullptr)
    fail(Status::invalid_argument, "args.{} is null: it is required", pointer.name);
  if (reinterpret_cast<std::uintptr_t>(pointer.value) % pointer.alignment != 0) {
    fail(Status::invalid_argument, "args.{} is {}: it must be a multiple of {} bytes", pointer.name,
         pointer.value, pointer.alignment);
  }
}

struct Stride {
  const char* name;
  std::int64_t value;
  long long
      count;  // elements that it steps over; a stride of 0 is an omission where there are several
};

void require(const Stride& stride, unsigned alignment) {
  if (stride.value % alignment != 0) {
    fail(Status::invalid_argument, "args.{} is {} bytes: it must be a multiple of {}", stride.name,
         stride.value, alignment);
  }
  if (stride.value == 0 && stride.count > 1) {
    fail(Status::invalid_argument,
         "args.{} is 0: {} elements lie along it, give their distance in bytes", stride.name,
         stride.count);
  }
}

void refuse_where(bool given, const char* field, const char* reason) {
  if (given) fail(Status::unsupported, "args.{} is given: {}", field, reason);
}

// A value for a feature that the spec has off would be ignored, and the result would not be what
// was asked.
void require_feature(bool given, bool on, const char* field, const char* spec_field) {
  if (given && !on)
    fail(Status::invalid_argument, "args.{} is given, but spec.{} is off: turn it on in the spec",
         field, spec_field);
}

void check_counts(const Spec& spec, const qrow_args& args) {
  if (args.batch < 0)
    fail(Status::invalid_argument, "args.batch is {}: it must be at least 0", args.batch);
  if (args.rows < 0 || args.rows > spec.max_rows) {
    fail(Status::invalid_argument,
         "args.rows is {}: the spec's max_rows is {}; give 1 to {}, or 0 for max_rows", args.rows,
         spec.max_rows, spec.max_rows);
  }
  if (args.max_kv_len < 0)
    fail(Status::invalid_argument, "args.max_kv_len is {}: it must be at least 0", args.max_kv_len);
  if (args.reserved != 0)
    fail(Status::invalid_argument, "args.reserved is {}: it must be 0", args.reserved);
  if ((args.flags & ~kKnownFlags) != 0) {
    fail(Status::invalid_argument, "args.flags is {:#x}: this version knows {:#x}", args.flags,
         kKnownFlags);
  }
  if (args.num_pages < 0)
    fail(Status::invalid_argument, "args.num_pages is {}: give the size of the pool, or 0",
         args.num_pages);
  if (args.window < 0)
    fail(Status::invalid_argument, "args.window is {}: it must be at least 0", args.window);
  if (!std::isfinite(args.softcap) || args.softcap < 0) {
    fail(Status::invalid_argument, "args.softcap is {}: it must be finite and not negative",
         args.softcap);
  }
  if (!std::isfinite(args.softmax_scale))
    fail(Status::invalid_argument, "args.softmax_scale is {}: it must be finite",
         args.softmax_scale);
}

// What this version does not do, by argument. What it does not do by spec is the families' word.
void check_supported(const qrow_args& args) {
  refuse_where(args.page_indptr != nullptr, "page_indptr", kNoCsrTables);
  refuse_where(args.q_indptr != nullptr, "q_indptr", kNoRaggedRows);
  refuse_where(args.row_kv_lens != nullptr, "row_kv_lens", "limits per row are not built yet");
  refuse_where(args.row_kv_begin != nullptr, "row_kv_begin", "limits per row are not built yet");
  refuse_where(args.tree_mask != nullptr, "tree_mask", "tree masks are not built yet");
  refuse_where(args.q_scale != nullptr, "q_scale", "8-bit queries are not built yet");
  refuse_where(args.schedule != nullptr, "schedule",
               "schedules made beforehand are not built yet; pass NULL");
  refuse_where(args.k_scale_page_stride != 0 || args.k_scale_token_stride != 0,
               "k_scale_page_stride or k_scale_token_stride", kNoTokenScales);
  refuse_where(args.v_scale_page_stride != 0 || args.v_scale_token_stride != 0,
               "v_scale_page_stride or v_scale_token_stride", kNoTokenScales);
  refuse_where((args.flags & QROW_RUN_WORKSPACE_PREPARED) != 0, "flags QROW_RUN_WORKSPACE_PREPARED",
               "merging inside the kernel is not built yet; leave the flag out");
  if (args.index_bits != 0 && args.index_bits != 32) {
    fail(Status::unsupported, "args.index_bits is {}: page tables hold 32-bit integers",
         args.index_bits);
  }
}

void check_features(const Spec& spec, const qrow_args& args) {
  require_feature(args.lse != nullptr, spec.lse != Lse::off, "lse", "lse");
  require_feature(args.sinks != nullptr, spec.sinks != 0, "sinks", "sinks");
  require_feature(args.window != 0, spec.window != 0, "window", "window");
  require_feature(args.softcap != 0, spec.softcap != 0, "softcap", "softcap");
  require_feature(args.k_scale != nullptr, spec.scale != Scale::none, "k_scale", "scale");
  require_feature(args.v_scale != nullptr, spec.scale != Scale::none, "v_scale", "scale");
  if (spec.window != 0 && args.window == 0)
    fail(Status::invalid_argument, "args.window is 0: spec.window needs a width of at least 1");
  if (spec.softcap != 0 && args.softcap == 0)
    fail(Status::invalid_argument, "args.softcap is 0: spec.softcap needs a value above 0");
  if (spec.lse != Lse::off) require({"lse", args.lse, 4});
  if (spec.scale != Scale::none) {
    require({"k_scale", args.k_scale, 4});
    require({"v_scale", args.v_scale, 4});
  }
  // Scales may be broadcast: 0 is a stride of its own there.
  for (const Stride& stride : {Stride{"lse_row_stride", args.lse_row_stride, 0},
                               Stride{"lse_head_stride", args.lse_head_stride, 0},
                               Stride{"k_scale_head_stride", args.k_scale_head_stride, 0},
                               Stride{"v_scale_head_stride", args.v_scale_head_stride, 0}}) {
    require(stride, 4);
  }
}

void check_tensors(const Spec& spec, const qrow_args& args, int rows) {
  for (const Pointer& pointer :
       {Pointer{"q", args.q, kRowAlignment}, Pointer{"k", args.k, kRowAlignment},
        Pointer{"v", args.v, kRowAlignment}, Pointer{"out", args.out, kRowAlignment},
        Pointer{"kv_lens", args.kv_lens, 4}, Pointer{"page_table", args.page_table, 4}}) {
    require(pointer);
  }
  const long long all_rows = static_cast<long long>(args.batch) * rows;
  for (const Stride& stride : {Stride{"q_row_stride", args.q_row_stride, all_rows},
                               Stride{"q_head_stride", args.q_head_stride, spec.num_q_heads},
                               Stride{"k_page_stride", args.k_page_stride, args.num_pages},
                               Stride{"k_token_stride", args.k_token_stride, spec.page_size},
                               Stride{"k_head_stride", args.k_head_stride, spec.num_kv_heads},
                               Stride{"v_page_stride", args.v_page_stride, args.num_pages},
                               Stride{"v_token_stride", args.v_token_stride, spec.page_size},
                               Stride{"v_head_stride", args.v_head_stride, spec.num_kv_heads},
                               Stride{"out_row_stride", args.out_row_stride, all_rows},
                               Stride{"out_head_stride", args.out_head_stride, spec.num_q_heads}}) {
    require(stride, kRowAlignment);
  }
  // Not more: the host's bound may be generous, and entries past a request's length are never read.
  if (args.page_table_stride < 0) {
    fail(Status::invalid_argument, "args.page_table_stride is {} elements: it must not be negative",
         args.page_table_stride);
  }
}

}  // namespace

CheckedArgs check_args(const Spec& spec, const qrow_args& args) {
  check_counts(spec, args);
  CheckedArgs checked;
  checked.args = &args;
  checked.rows = args.rows > 0 ? args.rows : spec.max_rows;
  // Lengths are 32-bit on the device: a larger bound bounds nothing.
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  checked.max_kv_len = static_cast<int>(args.max_kv_len < kMost ? args.max_kv_len : kMost);
  if (args.batch == 0) return checked;
  check_supported(args);
  check_features(spec, args);
  check_tensors(spec, args, checked.rows);
  return checked;
}

}  // namespace qrow
