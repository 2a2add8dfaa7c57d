// Which kind of attention each layer of a model has: the half of the model reader that knows the
// many ways in which configs say it.
#pragma once

#include <string>
#include <vector>

#include "runtime/tools/model_fields.hpp"

namespace qrow {

enum class LayerKind {
  full,
  window,
  chunked,
  other,    // no softmax attention: linear attention, Mamba, an MLP alone
  unknown,  // a word that this version does not know
};

struct Layer {
  LayerKind kind = LayerKind::full;
  std::string word{};    // the config's own, where `unknown`
  int num_q_heads = 0;   // 0: the model's
  int num_kv_heads = 0;  // 0: the model's
};

// One entry per layer. Throws Error(invalid_argument) naming the field that contradicts
// num_hidden_layers or cannot be read.
std::vector<Layer> read_layers(const ModelFields& fields, const std::string& model_type,
                               int num_layers);

}  // namespace qrow
