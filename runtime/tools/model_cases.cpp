#include <algorithm>

#include "runtime/tools/model_config.hpp"

namespace qrow {
namespace {

// The heads of one GPU of `parallel`. Each has at least one KV head: beyond that KV heads are
// replicated.
void split_heads(const Model& model, const LayerGroup& group, int parallel, Spec* spec) {
  if (group.num_q_heads % parallel != 0)
    fail(Status::invalid_argument, "{}: tp {} does not divide the {} query heads of its {} layers",
         model.name, parallel, group.num_q_heads, group.kind);
  spec->num_q_heads = group.num_q_heads / parallel;
  if (group.num_kv_heads % parallel == 0) {
    spec->num_kv_heads = group.num_kv_heads / parallel;
  } else if (parallel % group.num_kv_heads == 0) {
    spec->num_kv_heads = 1;
  } else {
    fail(Status::invalid_argument,
         "{}: tp {} neither divides the {} KV heads of its {} layers nor is a multiple of them",
         model.name, parallel, group.num_kv_heads, group.kind);
  }
}

Case case_of(const Model& model, const LayerGroup& group, int parallel) {
  Case c;
  split_heads(model, group, parallel, &c.spec);
  c.spec.head_dim = group.head_dim;
  c.spec.head_dim_v = group.head_dim_v;
  c.spec.q_dtype = model.q_dtype;
  c.spec.window = group.window > 0;
  c.window = group.window;
  c.spec.softcap = group.softcap > 0;
  c.softcap = group.softcap;
  c.spec.sinks = group.sinks;
  if (group.chunk > 0) c.spec.mask = Mask::limits;  // a chunk's border is a lower limit of each row
  return c;
}

}  // namespace

std::vector<Case> model_cases(const Model& model, const ModelSplit& split) {
  std::vector<Case> cases;
  std::vector<int> kv_dtypes = split.kv_dtypes;
  if (kv_dtypes.empty()) kv_dtypes.push_back(model.kv_dtype);
  for (const LayerGroup& group : model.groups) {
    if (!group.refusal.empty()) continue;
    for (int parallel : split.tensor_parallel) {
      Case c = case_of(model, group, parallel);
      for (int kv_dtype : kv_dtypes) {
        c.spec.kv_dtype = kv_dtype;
        c.spec.scale = default_scale(kv_dtype);
        for (int page_size : split.page_sizes) {
          c.spec.page_size = page_size;
          for (int rows : split.rows) {
            c.spec.max_rows = rows;
            check_spec(c.spec);
            if (std::find(cases.begin(), cases.end(), c) == cases.end()) cases.push_back(c);
          }
        }
      }
    }
  }
  return cases;
}

}  // namespace qrow
