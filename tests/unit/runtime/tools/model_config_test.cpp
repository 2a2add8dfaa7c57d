#include "runtime/tools/model_config.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

// Reads a config from text; the file is gone afterwards.
Model model_of(const std::string& json) {
  std::string path = "/tmp/qrow_model_test_" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << json;
  try {
    Model model = read_model(path);
    std::remove(path.c_str());
    return model;
  } catch (...) {
    std::remove(path.c_str());
    throw;
  }
}

std::string error_of(const std::string& json) {
  try {
    model_of(json);
    return {};
  } catch (const Error& error) {
    CHECK(error.status() == Status::invalid_argument);
    return error.what();
  }
}

std::vector<std::string> lines_of(const Model& model, const ModelSplit& split) {
  std::vector<std::string> lines;
  for (const Case& c : model_cases(model, split)) lines.push_back(format_case(c));
  return lines;
}

ModelSplit split_of(int parallel, int rows) {
  ModelSplit split;
  split.tensor_parallel = {parallel};
  split.rows = {rows};
  return split;
}

std::string shipped(const char* name) {
  return std::string(QROW_SOURCE_DIR "/tests/cases/models/") + name;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("a data type or a soft cap that makes no sense is refused, naming field and value") {
  const auto config = [](const std::string& more) {
    return R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,)" + more +
           R"("num_key_value_heads":1,"head_dim":64})";
  };
  CHECK(error_of(config("")).empty());
  CHECK(contains(error_of(config(R"("torch_dtype":"banana",)")), "'banana': legal are bfloat16"));
  CHECK(model_of(config(R"("torch_dtype":"float32",)")).notes.size() == 1);
  CHECK(contains(error_of(config(R"("attn_logit_softcapping":-5,)")), "must not be negative"));
  CHECK(contains(error_of(config(R"("num_nextn_predict_layers":-1,)")), "must be 0 to 10000"));
  CHECK(contains(error_of(config(R"("v_head_dim":0,)")), "from 1 to 1000000000"));
}

TEST_CASE("the KV type that a quantised checkpoint declares is read, and an unknown one is said") {
  const auto model = [](const std::string& quantization) {
    return model_of(
        R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,"head_dim":64,)"
        R"("quantization_config":)" +
        quantization + '}');
  };
  const auto e4m3 = static_cast<int>(DType::e4m3), int8 = static_cast<int>(DType::int8),
             bf16 = static_cast<int>(DType::bf16);
  CHECK(model(R"({"kv_cache_scheme":{"num_bits":8,"type":"float"}})").kv_dtype == e4m3);
  CHECK(model(R"({"kv_cache_scheme":{"num_bits":8}})").kv_dtype == e4m3);
  CHECK(model(R"({"kv_cache_scheme":{"num_bits":8,"type":"int"}})").kv_dtype == int8);
  CHECK(model(R"({"kv_cache_quant_algo":"FP8"})").kv_dtype == e4m3);
  CHECK(model(R"({"kv_cache_quant_algo":"INT8"})").kv_dtype == int8);
  CHECK(model(R"({"kv_cache_scheme":null})").notes.empty());
  for (const char* unknown :
       {R"({"kv_cache_scheme":{"num_bits":4}})", R"({"kv_cache_quant_algo":"NVFP4"})"}) {
    CHECK(model(unknown).kv_dtype == bf16);
    CHECK(model(unknown).notes.size() == 1);
  }
}

TEST_CASE("Qwen3.6-35B-A3B has ten full layers, thirty that are not ours, and a draft layer") {
  Model model = read_model(shipped("qwen3.6-35b-a3b.json"));
  REQUIRE(model.groups.size() == 1);
  CHECK(model.name == "qwen3.6-35b-a3b");
  CHECK(model.num_layers == 40);
  CHECK(model.groups[0].layers == 10);
  CHECK(model.other_layers == 30);
  CHECK(model.draft_layers == 1);
  CHECK(model.notes.empty());
  CHECK(lines_of(model, split_of(1, 4)) == std::vector<std::string>{"heads=16/2 d=256 rows=4"});
  CHECK(lines_of(model, split_of(2, 1)) == std::vector<std::string>{"heads=8/1 d=256"});
  CHECK(lines_of(model, split_of(4, 1)) == std::vector<std::string>{"heads=4/1 d=256"});
}

TEST_CASE("Llama-3.3-70B is one group of 80 layers") {
  Model model = read_model(shipped("llama-3.3-70b.json"));
  REQUIRE(model.groups.size() == 1);
  CHECK(model.groups[0].layers == 80);
  CHECK(model.other_layers == 0);
  CHECK(lines_of(model, split_of(8, 2)) == std::vector<std::string>{"heads=8/1 rows=2"});
  ModelSplit split;
  split.kv_dtypes = {static_cast<int>(DType::bf16), static_cast<int>(DType::e4m3)};
  CHECK(model_cases(model, split).size() == 16);
}

TEST_CASE("Gemma 4 31B has windowed layers and global layers with other heads") {
  Model model = read_model(shipped("gemma-4-31b.json"));
  REQUIRE(model.groups.size() == 2);
  CHECK(model.groups[0].layers == 50);
  CHECK(model.groups[0].window == 1024);
  CHECK(model.groups[0].softmax_scale == 1);
  CHECK(model.groups[1].layers == 10);
  CHECK(lines_of(model, split_of(1, 1)) ==
        std::vector<std::string>{"heads=32/16 d=256 window=1024", "heads=32/4 d=512"});
  CHECK(lines_of(model, split_of(8, 1)) ==
        std::vector<std::string>{"heads=4/2 d=256 window=1024", "heads=4/1 d=512"});
}

TEST_CASE("head_dim and KV heads are derived where they are absent") {
  Model model = model_of(
      R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":32,"hidden_size":4096})");
  CHECK(model.groups[0].head_dim == 128);
  CHECK(model.groups[0].num_kv_heads == 32);
  CHECK(model.notes.empty());
}

TEST_CASE("an unknown model_type is read by its fields and says so") {
  Model model = model_of(
      R"({"model_type":"brand_new","num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":64})");
  REQUIRE(model.notes.size() == 1);
  CHECK(contains(model.notes[0], "brand_new"));
  CHECK(model.groups[0].num_kv_heads == 2);
}

TEST_CASE("the several ways of naming windowed layers are understood") {
  auto with = [](const std::string& fields) {
    return model_of(
        R"({"model_type":"llama","num_hidden_layers":8,"num_attention_heads":8,"head_dim":64,)" +
        fields + "}");
  };
  auto counts = [](const Model& model) {
    int window = 0, full = 0;
    for (const LayerGroup& group : model.groups) (group.window > 0 ? window : full) += group.layers;
    return std::pair(window, full);
  };
  CHECK(counts(with(R"("sliding_window":4096)")) == std::pair(8, 0));
  CHECK(counts(with(R"("sliding_window":null)")) == std::pair(0, 8));
  CHECK(counts(with(R"("sliding_window":4096,"use_sliding_window":false)")) == std::pair(0, 8));
  CHECK(counts(with(R"("sliding_window":4096,"use_sliding_window":true,"max_window_layers":6)")) ==
        std::pair(2, 6));
  CHECK(counts(with(R"("sliding_window":512,"sliding_window_pattern":4)")) == std::pair(6, 2));
  CHECK(counts(with(R"("sliding_window":512,"sliding_window_pattern":"LLLG")")) == std::pair(6, 2));
  CHECK(counts(with(R"("full_attention_interval":4)")) == std::pair(0, 2));
  CHECK(with(R"("full_attention_interval":4)").other_layers == 6);
  CHECK(with(R"("hybrid_override_pattern":"M-M*M-E*")").other_layers == 6);
  Model chunked = with(R"("attention_chunk_size":8192)");
  REQUIRE(chunked.groups.size() == 2);
  CHECK(chunked.groups[0].chunk == 8192);
  CHECK(chunked.groups[0].layers == 6);
  CHECK(contains(lines_of(chunked, split_of(1, 1))[0], "mask=limits"));
}

TEST_CASE("gpt-oss alternates windows and has sinks on every layer") {
  Model model = model_of(
      R"({"model_type":"gpt_oss","num_hidden_layers":2,"num_attention_heads":64,"num_key_value_heads":8,
    "head_dim":64,"sliding_window":128,"layer_types":["sliding_attention","full_attention"]})");
  CHECK(
      lines_of(model, split_of(1, 1)) ==
      std::vector<std::string>{"heads=64/8 d=64 window=128 sinks=on", "heads=64/8 d=64 sinks=on"});
}

TEST_CASE("MiMo-V2-Flash has twins of the head counts and sinks on its window layers only") {
  Model model =
      model_of(R"({"model_type":"mimo_v2_flash","num_hidden_layers":4,"num_attention_heads":64,
    "num_key_value_heads":4,"head_dim":192,"v_head_dim":128,"swa_num_attention_heads":64,"swa_num_key_value_heads":8,
    "swa_head_dim":192,"swa_v_head_dim":128,"sliding_window":128,"attention_chunk_size":128,
    "add_swa_attention_sink_bias":true,"add_full_attention_sink_bias":false,"hybrid_layer_pattern":[0,1,1,1]})");
  CHECK(
      lines_of(model, split_of(1, 1)) ==
      std::vector<std::string>{"heads=64/4 d=192/128", "heads=64/8 d=192/128 window=128 sinks=on"});
  CHECK(model.groups[1].layers == 3);
}

TEST_CASE("soft caps and scales come from the config") {
  Model model = model_of(
      R"({"model_type":"gemma2","num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":4,
    "head_dim":256,"sliding_window":4096,"attn_logit_softcapping":50.0,"query_pre_attn_scalar":256})");
  CHECK(lines_of(model, split_of(1, 1)) ==
        std::vector<std::string>{"heads=8/4 d=256 window=4096 softcap=50",
                                 "heads=8/4 d=256 softcap=50"});
  CHECK(model.groups[0].softmax_scale == doctest::Approx(0.0625));
}

TEST_CASE(
    "layers may differ in query heads, leave attention out, or group KV heads their own way") {
  Model laguna = model_of(
      R"({"model_type":"laguna","num_hidden_layers":2,"num_attention_heads":48,"num_key_value_heads":8,
    "head_dim":128,"sliding_window":512,"layer_types":["full_attention","sliding_attention"],
    "num_attention_heads_per_layer":[48,72]})");
  CHECK(lines_of(laguna, split_of(1, 1)) ==
        std::vector<std::string>{"heads=48/8", "heads=72/8 window=512"});
  Model blocks = model_of(
      R"({"model_type":"nemotron-nas","num_hidden_layers":2,"num_attention_heads":64,"head_dim":128,
    "block_configs":[{"attention":{"n_heads_in_group":8,"no_op":false}},{"attention":{"n_heads_in_group":null,"no_op":true}}]})");
  CHECK(lines_of(blocks, split_of(1, 1)) == std::vector<std::string>{"heads=64/8"});
  CHECK(blocks.other_layers == 1);
}

TEST_CASE("latent attention and unknown kinds of layer are refused by name, not dropped") {
  Model latent = model_of(
      R"({"model_type":"deepseek_v3","num_hidden_layers":61,"num_attention_heads":128,"kv_lora_rank":512})");
  REQUIRE(latent.groups.size() == 1);
  CHECK(contains(latent.groups[0].refusal, "kv_lora_rank 512"));
  CHECK(model_cases(latent, {}).empty());
  Model unknown =
      model_of(R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,"head_dim":64,
    "layer_types":["full_attention","magic_attention"]})");
  REQUIRE(unknown.groups.size() == 2);
  CHECK(contains(unknown.groups[1].refusal, "magic_attention"));
  CHECK(model_cases(unknown, split_of(1, 1)).size() == 1);
}

TEST_CASE("a declared 8-bit cache is the default KV type") {
  Model model =
      model_of(R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,"head_dim":64,
    "torch_dtype":"float16","quantization_config":{"kv_cache_scheme":{"num_bits":8,"type":"float"}}})");
  CHECK(lines_of(model, split_of(1, 1)) ==
        std::vector<std::string>{"heads=8/8 d=64 q=f16 kv=e4m3"});
}

TEST_CASE("KV heads are replicated beyond their number, and an impossible split is named") {
  Model model = model_of(
      R"({"model_type":"llama","num_hidden_layers":2,"num_attention_heads":24,"num_key_value_heads":4,"head_dim":128})");
  CHECK(lines_of(model, split_of(8, 1)) == std::vector<std::string>{"heads=3/1"});
  CHECK_THROWS_WITH_AS(model_cases(model, split_of(5, 1)),
                       doctest::Contains("tp 5 does not divide the 24 query heads"), Error);
  CHECK_THROWS_WITH_AS(model_cases(model, split_of(6, 1)),
                       doctest::Contains("tp 6 neither divides the 4 KV heads"), Error);
}

TEST_CASE("a missing or contradictory number is an error that names the field") {
  CHECK(contains(error_of("[1]"), "one JSON object"));
  CHECK(contains(error_of("{"), "not valid JSON"));
  CHECK(contains(error_of("{}"), "num_hidden_layers is missing"));
  CHECK(contains(error_of(R"({"num_hidden_layers":2})"), "num_attention_heads is missing"));
  CHECK(contains(error_of(R"({"num_hidden_layers":2,"num_attention_heads":8})"),
                 "head_dim is missing"));
  CHECK(contains(error_of(R"({"num_hidden_layers":2,"num_attention_heads":7,"hidden_size":4096})"),
                 "hidden_size 4096"));
  CHECK(contains(error_of(R"({"num_hidden_layers":2,"num_attention_heads":"many"})"),
                 "num_attention_heads is many"));
  CHECK(contains(error_of(R"({"num_hidden_layers":-1})"), "num_hidden_layers is -1"));
  CHECK(contains(
      error_of(
          R"({"num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":3,"head_dim":64})"),
      "no multiple of 3 KV heads"));
  CHECK(contains(
      error_of(
          R"({"num_hidden_layers":2,"num_attention_heads":8,"head_dim":64,"layer_types":["full_attention"]})"),
      "layer_types has 1 entries, num_hidden_layers is 2"));
  CHECK(contains(
      error_of(
          R"({"num_hidden_layers":1,"num_attention_heads":8,"head_dim":64,"layer_types":["sliding_attention"]})"),
      "sliding_window is missing"));
  CHECK(contains(error_of(R"({"text_config":{"num_hidden_layers":1,"num_attention_heads":8}})"),
                 "text_config.head_dim"));
  CHECK(contains(
      error_of(
          R"({"num_hidden_layers":2,"num_attention_heads":8,"head_dim":64,"hybrid_override_pattern":"MX"})"),
      "'X'"));
}

}  // namespace
}  // namespace qrow
