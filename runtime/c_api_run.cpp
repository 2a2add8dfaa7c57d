// The C API: plans and calls.
#include "runtime/c_api.hpp"
#include "runtime/public_spec.hpp"

namespace qrow {
namespace {

PlanWorkload to_workload(const Spec& spec, const qrow_workload& w) {
  at_least_zero("workload.batch", w.batch);
  at_least_zero("workload.rows", w.rows);
  at_least_zero("workload.max_kv_len", w.max_kv_len);
  at_least_zero("workload.window", w.window);
  at_least_zero("workload.splits", w.splits);
  if (w.window > 0 && spec.window == 0) {
    fail(Status::invalid_argument,
         "workload.window is {}, but spec.window is off: turn it on in the spec", w.window);
  }
  if (w.rows > spec.max_rows) {
    fail(Status::invalid_argument, "workload.rows is {}: the spec's max_rows is {}", w.rows,
         spec.max_rows);
  }
  if (w.reserved != 0)
    fail(Status::invalid_argument, "workload.reserved is {}: it must be 0", w.reserved);
  return {w.batch,
          w.rows,
          w.max_kv_len,
          w.window,
          w.splits,
          text_or_empty(w.family),
          text_or_empty(w.tuning)};
}

qrow_plan_info info_of(const Pick& pick) {
  qrow_plan_info info{};
  info.registers = pick.registers;
  info.spill_bytes = pick.spill_bytes;
  info.stack_bytes = pick.stack_bytes;
  info.smem_bytes = pick.smem_bytes;
  info.threads = pick.launch.attention.threads;
  info.blocks_per_sm = pick.launch.geometry.blocks_per_sm;
  info.source = static_cast<int>(pick.source);
  info.tuning_source = static_cast<int>(pick.choice.source);
  info.family = pick.choice.family->name().data();  // a literal
  info.tuning = pick.tuning_text.c_str();
  info.key = pick.key_hex.c_str();
  info.arch = pick.arch->name;
  return info;
}

}  // namespace
}  // namespace qrow

using namespace qrow;

extern "C" {

qrow_status qrow_plan_create(qrow_context* context, const qrow_spec* spec,
                             const qrow_workload* workload, qrow_plan** plan) {
  return guarded([&] {
    require_pointer(plan, "plan") = nullptr;
    Context& c = require_pointer(context, "context").context;
    qrow_spec spec_storage;
    const Spec known = to_spec(whole(spec, "spec", spec_storage));
    auto made = std::make_unique<qrow_plan>();
    if (workload != nullptr) {
      qrow_workload workload_storage;
      const PlanWorkload w = to_workload(known, whole(workload, "workload", workload_storage));
      made->plan = c.make_plan(known, &w);
    } else {
      made->plan = c.make_plan(known, nullptr);
    }
    *plan = made.release();
  });
}

void qrow_plan_destroy(qrow_plan* plan) { delete plan; }

qrow_status qrow_plan_info_get(const qrow_plan* plan, qrow_plan_info* info) {
  return guarded(
      [&] { hand_out(info, "info", info_of(require_pointer(plan, "plan").plan->described())); });
}

qrow_status qrow_plan_workspace_bytes(const qrow_plan* plan, int32_t batch, int64_t max_kv_len,
                                      size_t* bytes) {
  return guarded([&] {
    require_pointer(bytes, "bytes") = 0;
    *bytes = require_pointer(plan, "plan").plan->workspace_bytes(batch, max_kv_len);
  });
}

qrow_status qrow_plan_run(const qrow_plan* plan, const qrow_args* args, void* workspace,
                          size_t workspace_bytes, void* stream) {
  return guarded([&] {
    qrow_args storage;
    require_pointer(plan, "plan")
        .plan->run(whole(args, "args", storage), workspace, workspace_bytes,
                   static_cast<CUstream>(stream));
  });
}

qrow_status qrow_workspace_bytes(qrow_context* context, const qrow_spec* spec, int32_t batch,
                                 int64_t max_kv_len, size_t* bytes) {
  return guarded([&] {
    require_pointer(bytes, "bytes") = 0;
    qrow_spec storage;
    const Spec known = to_spec(whole(spec, "spec", storage));
    *bytes = require_pointer(context, "context").context.workspace_bytes(known, batch, max_kv_len);
  });
}

qrow_status qrow_decode(qrow_context* context, const qrow_spec* spec, const qrow_args* args,
                        void* workspace, size_t workspace_bytes, void* stream) {
  return guarded([&] {
    qrow_spec spec_storage;
    qrow_args args_storage;
    require_pointer(context, "context")
        .context.decode(whole(spec, "spec", spec_storage), whole(args, "args", args_storage),
                        workspace, workspace_bytes, static_cast<CUstream>(stream));
  });
}

// ---- Declared, refused by this version
// -------------------------------------------------------------------------------

qrow_status qrow_plan_schedule_bytes(const qrow_plan*, int32_t, size_t*) {
  return guarded([] {
    fail(Status::unsupported,
         "schedules made beforehand are not built yet: every run schedules inside its kernel");
  });
}

qrow_status qrow_plan_schedule(const qrow_plan*, const qrow_args*, void*, size_t, void*) {
  return guarded([] {
    fail(Status::unsupported,
         "schedules made beforehand are not built yet: pass args.schedule NULL");
  });
}

qrow_status qrow_workspace_prepare(qrow_context*, void*, size_t, void*) {
  return guarded([] {
    fail(Status::unsupported, "prepared workspaces are not built yet: a run needs no preparation");
  });
}

qrow_status qrow_merge(qrow_context*, const qrow_merge_args*, void*) {
  return guarded([] {
    fail(Status::unsupported,
         "qrow_merge is not built yet: the library merges the KV splits of its own calls only");
  });
}

}  // extern "C"
