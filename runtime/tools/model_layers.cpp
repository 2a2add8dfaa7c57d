#include "runtime/tools/model_layers.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

struct KindWord {
  std::string_view word;
  LayerKind kind;
};
constexpr KindWord kKindWords[] = {
    {"full_attention", LayerKind::full},
    {"attention", LayerKind::full},
    {"global_attention", LayerKind::full},
    {"global", LayerKind::full},
    {"full", LayerKind::full},
    {"sliding_attention", LayerKind::window},
    {"sliding_window", LayerKind::window},
    {"sliding_window_attention", LayerKind::window},
    {"local_attention", LayerKind::window},
    {"local", LayerKind::window},
    {"sliding", LayerKind::window},
    {"chunked_attention", LayerKind::chunked},
    {"linear_attention", LayerKind::other},
    {"mamba", LayerKind::other},
    {"mamba2", LayerKind::other},
    {"recurrent", LayerKind::other},
    {"conv", LayerKind::other},
    {"mlp", LayerKind::other},
    {"moe", LayerKind::other},
    {"gated_deltanet", LayerKind::other},
    {"kda", LayerKind::other},
    {"lightning_attention", LayerKind::other},
};

Layer layer_of_word(const std::string& word) {
  for (const KindWord& known : kKindWords)
    if (word == known.word) return {.kind = known.kind};
  return {.kind = LayerKind::unknown, .word = word};
}

std::vector<Layer> repeat(int count, LayerKind kind) {
  return {static_cast<std::size_t>(count), Layer{.kind = kind}};
}

// "layer_types": ["sliding_attention", "full_attention", ...]
std::vector<Layer> from_words(const ModelFields& fields, const char* name, int num_layers) {
  int size = *fields.array_size(name);
  if (size != num_layers)
    fields.complain(name, fmt::format("has {} entries, num_hidden_layers is {}", size, num_layers));
  std::vector<Layer> layers;
  for (int i = 0; i < size; ++i) {
    std::optional<std::string> word = fields.json().text(fields.path(name, i));
    layers.push_back(layer_of_word(word.value_or("null")));
  }
  return layers;
}

// Nemotron-H: a letter per layer; '*' is attention.
std::vector<Layer> from_letters(const ModelFields& fields, const char* name, int num_layers) {
  std::string letters = *fields.text(name);
  if (letters.size() != static_cast<std::size_t>(num_layers))
    fields.complain(
        name, fmt::format("has {} letters, num_hidden_layers is {}", letters.size(), num_layers));
  std::vector<Layer> layers;
  for (char letter : letters) {
    if (std::string_view("*M-E").find(letter) == std::string_view::npos)
      fields.complain(name,
                      fmt::format("has the letter '{}': known are * (attention), M, -, E", letter));
    layers.push_back({.kind = letter == '*' ? LayerKind::full : LayerKind::other});
  }
  return layers;
}

// MiMo-V2: 0 full, 1 window.
std::vector<Layer> from_numbers(const ModelFields& fields, const char* name, int num_layers) {
  int size = *fields.array_size(name);
  if (size != num_layers)
    fields.complain(name, fmt::format("has {} entries, num_hidden_layers is {}", size, num_layers));
  std::vector<Layer> layers;
  for (int i = 0; i < size; ++i) {
    long long number = fields.json().integer(fields.path(name, i)).value_or(-1);
    if (number != 0 && number != 1) fields.complain(name, "must hold 0 (full) and 1 (window) only");
    layers.push_back({.kind = number == 1 ? LayerKind::window : LayerKind::full});
  }
  return layers;
}

// "block_configs": a dictionary per layer, with attention left out of some and KV heads given by
// group size.
std::vector<Layer> from_blocks(const ModelFields& fields, int num_layers, int num_q_heads) {
  constexpr const char* name = "block_configs";
  int size = *fields.array_size(name);
  if (size != num_layers)
    fields.complain(name, fmt::format("has {} entries, num_hidden_layers is {}", size, num_layers));
  std::vector<Layer> layers;
  for (int i = 0; i < size; ++i) {
    std::string attention = fields.path(name, i) + ".attention";
    const JsonReader& json = fields.json();
    bool none = json.boolean(attention + ".no_op").value_or(false) ||
                json.boolean(attention + ".replace_with_linear").value_or(false);
    Layer layer{.kind = none ? LayerKind::other : LayerKind::full};
    long long group = none ? 0 : json.integer(attention + ".n_heads_in_group").value_or(0);
    if (group < 0 || (group > 0 && num_q_heads % group != 0))
      fields.complain(name, fmt::format("[{}]: n_heads_in_group {} does not divide {} heads", i,
                                        group, num_q_heads));
    if (group > 0) layer.num_kv_heads = static_cast<int>(num_q_heads / group);
    layers.push_back(layer);
  }
  return layers;
}

// Every `interval`-th layer is of one kind, the others of another.
std::vector<Layer> every_nth(int num_layers, int interval, int phase, LayerKind nth,
                             LayerKind others) {
  std::vector<Layer> layers = repeat(num_layers, others);
  for (int i = 0; i < num_layers; ++i)
    if (i % interval == phase) layers[static_cast<std::size_t>(i)].kind = nth;
  return layers;
}

// "LLLG": the pattern repeats, L local, G global.
std::vector<Layer> from_pattern_letters(const ModelFields& fields, int num_layers) {
  std::string letters = *fields.text("sliding_window_pattern");
  std::vector<Layer> layers = repeat(num_layers, LayerKind::full);
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
    fields.complain("sliding_window_pattern",
                    "must be a number or a text of L (local) and G (global)");
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (letters[i % letters.size()] == 'L') layers[i].kind = LayerKind::window;
  return layers;
}

// Configs of these types leave the pattern to their code.
int implied_window_pattern(const std::string& model_type) {
  if (model_type == "gemma2") return 2;
  if (model_type == "gemma3" || model_type == "gemma3_text") return 6;
  if (model_type == "cohere2") return 4;
  return 0;
}

std::vector<Layer> from_window(const ModelFields& fields, const std::string& model_type,
                               int num_layers) {
  // The Qwen2 and Qwen3 families write a window that is off unless use_sliding_window says
  // otherwise.
  bool in_use = fields.boolean("use_sliding_window").value_or(!model_type.starts_with("qwen"));
  if (!in_use) return repeat(num_layers, LayerKind::full);
  std::vector<Layer> layers = repeat(num_layers, LayerKind::window);
  long long full = fields.integer({"max_window_layers"}).value_or(0);
  for (int i = 0; i < std::min<long long>(full, num_layers); ++i)
    layers[static_cast<std::size_t>(i)].kind = LayerKind::full;
  return layers;
}

std::vector<Layer> read_kinds(const ModelFields& fields, const std::string& model_type,
                              int num_layers) {
  for (const char* name : {"layer_types", "layers_block_type"})
    if (fields.has(name)) return from_words(fields, name, num_layers);
  if (fields.has("hybrid_override_pattern"))
    return from_letters(fields, "hybrid_override_pattern", num_layers);
  if (fields.has("hybrid_layer_pattern"))
    return from_numbers(fields, "hybrid_layer_pattern", num_layers);
  if (fields.has("block_configs"))
    return from_blocks(fields, num_layers, fields.count({"num_attention_heads"}));
  if (fields.has("attn_layer_period"))  // Jamba
    return every_nth(num_layers, fields.count({"attn_layer_period"}),
                     static_cast<int>(fields.integer({"attn_layer_offset"}).value_or(0)),
                     LayerKind::full, LayerKind::other);
  if (fields.has("full_attention_interval")) {
    int interval = fields.count({"full_attention_interval"});
    return every_nth(num_layers, interval, interval - 1, LayerKind::full, LayerKind::other);
  }
  if (fields.has("attention_chunk_size")) {  // Llama 4: all but every n-th
    int interval = fields.count({"no_rope_layer_interval"}, 4);
    return every_nth(num_layers, interval, interval - 1, LayerKind::full, LayerKind::chunked);
  }
  if (fields.type("sliding_window_pattern") == "text")
    return from_pattern_letters(fields, num_layers);
  bool has_window = fields.has("sliding_window") || fields.has("sliding_window_size");
  int pattern = fields.count({"sliding_window_pattern", "_sliding_window_pattern"},
                             implied_window_pattern(model_type));
  if (pattern > 0 && has_window)
    return every_nth(num_layers, pattern, pattern - 1, LayerKind::full, LayerKind::window);
  if (has_window) return from_window(fields, model_type, num_layers);
  return repeat(num_layers, LayerKind::full);
}

}  // namespace

std::vector<Layer> read_layers(const ModelFields& fields, const std::string& model_type,
                               int num_layers) {
  std::vector<Layer> layers = read_kinds(fields, model_type, num_layers);
  // Laguna: query heads differ by layer.
  constexpr const char* per_layer = "num_attention_heads_per_layer";
  if (fields.type(per_layer) == "array") {
    int size = *fields.array_size(per_layer);
    if (size != num_layers)
      fields.complain(per_layer,
                      fmt::format("has {} entries, num_hidden_layers is {}", size, num_layers));
    for (int i = 0; i < num_layers; ++i) {
      long long heads = fields.json().integer(fields.path(per_layer, i)).value_or(0);
      if (heads < 1 || heads > 4096)
        fields.complain(per_layer, fmt::format("[{}] is {}", i, heads));
      layers[static_cast<std::size_t>(i)].num_q_heads = static_cast<int>(heads);
    }
  }
  return layers;
}

}  // namespace qrow
