#include "runtime/tools/model_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/base/file.hpp"
#include "runtime/tools/model_layers.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr int kMostLayers = 10'000;

// Types whose conventions this reader was written for; others are read by the same fields and
// reported.
constexpr const char* kKnownTypes[] = {
    "llama",        "llama4_text",   "mistral",          "mixtral",      "qwen2",
    "qwen2_moe",    "qwen3",         "qwen3_moe",        "qwen3_next",   "qwen3_5",
    "qwen3_5_text", "qwen3_5_moe",   "qwen3_5_moe_text", "gemma",        "gemma2",
    "gemma3",       "gemma3_text",   "gemma4",           "gemma4_text",  "gpt_oss",
    "phi3",         "glm4",          "glm4_moe",         "minimax",      "minimax_m2",
    "mimo_v2",      "mimo_v2_flash", "nemotron_h",       "nemotron-nas", "olmo2",
    "olmo3",        "granite",       "cohere2",          "exaone4",      "starcoder2",
    "seed_oss",     "step3p5",       "laguna",           "smollm3",      "falcon_h1"};

bool known_type(const std::string& type) {
  return std::find(std::begin(kKnownTypes), std::end(kKnownTypes), type) != std::end(kKnownTypes);
}

bool is_gemma4(const std::string& type) { return type.starts_with("gemma4"); }
bool is_mimo_v2(const std::string& type) { return type.starts_with("mimo_v2"); }

int read_q_dtype(const ModelFields& fields, std::vector<std::string>* notes) {
  std::optional<std::string> word;
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (!word) word = fields.text(name);
    if (!word) word = fields.json().text(std::string("$.") + name);
  }
  if (word == "float16") return static_cast<int>(DType::f16);
  if (!word || word == "bfloat16") return static_cast<int>(DType::bf16);
  for (const char* taken : {"float32", "auto", "float8_e4m3fn"}) {
    if (*word != taken) continue;
    notes->push_back(fmt::format("dtype {} is taken as bf16", *word));
    return static_cast<int>(DType::bf16);
  }
  fields.complain("dtype", fmt::format("is '{}': legal are bfloat16 and float16; float32, auto and "
                                       "float8_e4m3fn are taken as bfloat16",
                                       *word));
}

// What a quantised checkpoint declares for its KV cache: a scheme of bits and type, or the name of
// an algorithm. What is unknown is taken as not quantised, and said.
int read_kv_dtype(const JsonReader& json, int q_dtype, std::vector<std::string>* notes) {
  const std::string scheme = "$.quantization_config.kv_cache_scheme";
  std::string declared;
  if (json.type(scheme) == "object") {
    declared = fmt::format("{}{}", json.text(scheme + ".type").value_or("float"),
                           json.integer(scheme + ".num_bits").value_or(16));
  } else {
    declared = json.text("$.quantization_config.kv_cache_quant_algo").value_or("");
  }
  if (declared == "float8" || declared == "FP8") return static_cast<int>(DType::e4m3);
  if (declared == "int8" || declared == "INT8") return static_cast<int>(DType::int8);
  if (!declared.empty() && declared != "float16")
    notes->push_back(fmt::format(
        "its KV cache of type {} is unknown to qrow and taken as {}: --kv names another", declared,
        dtype_word(q_dtype)));
  return q_dtype;
}

int derive_head_dim(const ModelFields& fields, int num_q_heads) {
  if (int given = fields.count({"head_dim", "attention_head_dim", "kv_channels"}, 0)) return given;
  int hidden = fields.count({"hidden_size", "n_embd", "d_model"}, 0);
  if (hidden == 0)
    fields.complain("head_dim", "is missing, and hidden_size, from which it could be derived, too");
  if (hidden % num_q_heads != 0)
    fields.complain("head_dim",
                    fmt::format("is missing, and hidden_size {} is not a multiple of {} heads",
                                hidden, num_q_heads));
  return hidden / num_q_heads;
}

// What full attention layers need; the other kinds differ from it in places.
LayerGroup read_base(const ModelFields& fields, const std::string& model_type) {
  LayerGroup group;
  group.kind = "full";
  group.num_q_heads = fields.count({"num_attention_heads", "n_head", "num_heads"});
  group.num_kv_heads = fields.count(
      {"num_key_value_heads", "num_kv_heads", "num_attention_groups", "multi_query_group_num"},
      group.num_q_heads);
  group.head_dim = derive_head_dim(fields, group.num_q_heads);
  group.head_dim_v = fields.count({"v_head_dim"}, group.head_dim);
  group.softcap = fields.number({"attn_logit_softcapping"}).value_or(0);
  if (group.softcap < 0)
    fields.complain("attn_logit_softcapping",
                    fmt::format("is {}: it must not be negative", group.softcap));
  group.sinks =
      model_type == "gpt_oss" || fields.boolean("add_full_attention_sink_bias").value_or(false);
  if (is_gemma4(model_type)) {
    group.softmax_scale = 1;
  } else if (std::optional<double> scalar = fields.number({"query_pre_attn_scalar"});
             scalar && *scalar > 0) {
    group.softmax_scale = 1 / std::sqrt(*scalar);
  } else {
    group.softmax_scale = fields.number({"attention_multiplier"}).value_or(0);
  }
  return group;
}

// The model with full layers on other heads than its sliding ones (Gemma 4).
void apply_global_fields(const ModelFields& fields, LayerGroup* group) {
  if (fields.has("global_head_dim")) {
    group->head_dim = fields.count({"global_head_dim"});
    group->head_dim_v = group->head_dim;
  }
  if (fields.boolean("attention_k_eq_v").value_or(false))
    group->num_kv_heads = fields.count({"num_global_key_value_heads"}, group->num_kv_heads);
}

void apply_window_fields(const ModelFields& fields, const std::string& model_type,
                         LayerGroup* group) {
  group->kind = "window";
  group->window = fields.count({"sliding_window", "sliding_window_size"});
  if (fields.type("attention_other_setting") ==
      "object") {  // Step 3.5: the sliding layers' own heads
    group->num_q_heads =
        fields.count({"attention_other_setting.num_attention_heads"}, group->num_q_heads);
    group->num_kv_heads =
        fields.count({"attention_other_setting.num_attention_groups"}, group->num_kv_heads);
    group->head_dim = fields.count({"attention_other_setting.head_dim"}, group->head_dim);
    group->head_dim_v = fields.count({"v_head_dim"}, group->head_dim);
  }
  group->num_q_heads = fields.count({"swa_num_attention_heads"}, group->num_q_heads);
  group->num_kv_heads = fields.count({"swa_num_key_value_heads"}, group->num_kv_heads);
  group->head_dim = fields.count({"swa_head_dim"}, group->head_dim);
  group->head_dim_v =
      fields.count({"swa_v_head_dim"}, fields.has("swa_head_dim") && !fields.has("v_head_dim")
                                           ? group->head_dim
                                           : group->head_dim_v);
  group->sinks = model_type == "gpt_oss" ||
                 fields.boolean("add_swa_attention_sink_bias").value_or(is_mimo_v2(model_type));
}

LayerGroup group_of(const ModelFields& fields, const std::string& model_type,
                    const LayerGroup& base, const Layer& layer) {
  LayerGroup group = base;
  switch (layer.kind) {
    case LayerKind::full:
      apply_global_fields(fields, &group);
      break;
    case LayerKind::window:
      apply_window_fields(fields, model_type, &group);
      break;
    case LayerKind::chunked:
      group.kind = "chunked";
      group.chunk = fields.count({"attention_chunk_size"});
      break;
    default:
      group.kind = layer.word;
      group.refusal = fmt::format("layers of kind '{}' are unknown to this version", layer.word);
  }
  if (layer.num_q_heads > 0) group.num_q_heads = layer.num_q_heads;
  if (layer.num_kv_heads > 0) group.num_kv_heads = layer.num_kv_heads;
  if (group.num_q_heads % group.num_kv_heads != 0)
    fields.complain("num_attention_heads",
                    fmt::format("is {} for {} layers, no multiple of {} KV heads",
                                group.num_q_heads, group.kind, group.num_kv_heads));
  group.layers = 1;
  return group;
}

void add_layer(const LayerGroup& group, std::vector<LayerGroup>* groups) {
  for (LayerGroup& known : *groups) {
    if (!known.same_spec(group)) continue;
    ++known.layers;
    return;
  }
  groups->push_back(group);
}

void read_groups(const ModelFields& fields, Model* model) {
  if (fields.has("kv_lora_rank")) {
    LayerGroup group;
    group.kind = "latent";
    group.layers = model->num_layers;
    group.refusal =
        fmt::format("multi-head latent attention (kv_lora_rank {}) is not part of this version",
                    fields.count({"kv_lora_rank"}));
    model->groups.push_back(group);
    return;
  }
  LayerGroup base = read_base(fields, model->type);
  std::vector<Layer> layers = read_layers(fields, model->type, model->num_layers);
  // Whatever the pattern says, the last layer of these sees everything.
  if (is_gemma4(model->type)) layers.back().kind = LayerKind::full;
  for (const Layer& layer : layers) {
    if (layer.kind == LayerKind::other) {
      ++model->other_layers;
    } else {
      add_layer(group_of(fields, model->type, base, layer), &model->groups);
    }
  }
  if (model->groups.empty())
    fields.complain("num_hidden_layers", "counts no layer with softmax attention");
}

void add_notes(const ModelFields& fields, Model* model) {
  if (model->type.empty()) {
    model->notes.push_back("there is no model_type: read by its fields");
  } else if (!known_type(model->type)) {
    model->notes.push_back(
        fmt::format("model_type '{}' is unknown to qrow: read by its fields", model->type));
  }
  if (long long shared = fields.integer({"num_kv_shared_layers"}).value_or(0); shared > 0)
    model->notes.push_back(
        fmt::format("{} layers read another layer's cache: the same kernels", shared));
  if (fields.has("index_topk") || fields.has("indexer_budget"))
    model->notes.push_back(
        "its learned sparse selection is not applied: kernels are for dense attention");
}

}  // namespace

bool LayerGroup::same_spec(const LayerGroup& other) const {
  return kind == other.kind && num_q_heads == other.num_q_heads &&
         num_kv_heads == other.num_kv_heads && head_dim == other.head_dim &&
         head_dim_v == other.head_dim_v && window == other.window && chunk == other.chunk &&
         softcap == other.softcap && sinks == other.sinks;
}

Model read_model(const std::string& path) {
  JsonReader json(path, read_file(path));
  ModelFields fields(json);
  Model model;
  model.name = std::filesystem::path(path).stem().string();
  model.type = fields.text("model_type").value_or("");
  model.num_layers = fields.count({"num_hidden_layers", "n_layer", "num_layers"});
  if (model.num_layers > kMostLayers)
    fields.complain("num_hidden_layers", fmt::format("is above {}", kMostLayers));
  const long long draft_layers =
      fields.integer({"mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_modules"})
          .value_or(0);
  if (draft_layers < 0 || draft_layers > kMostLayers)
    fields.complain("num_nextn_predict_layers",
                    fmt::format("is {}, it must be 0 to {}", draft_layers, kMostLayers));
  model.draft_layers = static_cast<int>(draft_layers);
  model.q_dtype = read_q_dtype(fields, &model.notes);
  model.kv_dtype = read_kv_dtype(json, model.q_dtype, &model.notes);
  read_groups(fields, &model);
  add_notes(fields, &model);
  return model;
}

}  // namespace qrow
