// Reads a model's Hugging Face config.json: which attention layers it has and what each kind needs
// of a kernel. The unit is the layer group: layers of one model that need the same spec (Gemma's
// windowed and global layers are two groups). Reads by field names, not by a list of models; plain
// values, no GPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/case.hpp"

namespace qrow {

struct LayerGroup {
  std::string kind;  // "full", "window", "chunked", or the config's own word where `refusal` is set
  int layers = 0;
  int num_q_heads = 0;  // of the whole model, before it is split over GPUs
  int num_kv_heads = 0;
  int head_dim = 0;
  int head_dim_v = 0;
  long long window = 0;  // keys; 0: none
  long long chunk = 0;   // chunked attention: keys of one chunk; 0: none
  double softcap = 0;    // 0: none
  bool sinks = false;
  double softmax_scale = 0;  // 0: 1/sqrt(head_dim); an argument of the call, so no part of the spec
  std::string refusal{};  // why no kernel of this version can serve these layers; "" if there is a
                          // spec for them

  bool same_spec(const LayerGroup& other) const;
};

struct Model {
  std::string name;  // of the file, without folder and ".json"
  std::string type;  // model_type of the language part
  int num_layers = 0;
  int other_layers = 0;  // without softmax attention (linear attention, Mamba, ...): none of ours
  int draft_layers = 0;  // multi-token prediction layers declared: rows to expect
  std::vector<LayerGroup> groups;
  int q_dtype = 1;                 // DType
  int kv_dtype = 1;                // what the config declares for the cache, else q_dtype
  std::vector<std::string> notes;  // what a reader should know: assumptions made
};

// Throws Error(invalid_argument) naming file and field where a number is missing, of the wrong type
// or contradictory.
Model read_model(const std::string& path);

struct ModelSplit {
  std::vector<int> tensor_parallel = {1};
  std::vector<int> rows = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> kv_dtypes;  // empty: Model::kv_dtype
  std::vector<int> page_sizes = {64};
};

// One spec per layer group, GPU count, KV type, page size and rows, repeats left out. KV heads are
// replicated where there are more GPUs than KV heads. Throws Error(invalid_argument) for a split
// that the heads do not allow, naming it.
std::vector<Case> model_cases(const Model& model, const ModelSplit& split);

}  // namespace qrow
