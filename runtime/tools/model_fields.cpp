#include "runtime/tools/model_fields.hpp"

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr long long kMostCount =
    1'000'000'000;  // fits an int, and no model has so many of anything

}  // namespace

ModelFields::ModelFields(const JsonReader& json) : json_(json) {
  if (json.type("$") != "object")
    fail(Status::invalid_argument, "{}: a config.json is one JSON object", json.name());
  // Multimodal models keep the language part apart; the outer object may repeat some of its fields.
  for (const char* part :
       {"text_config", "language_config", "llm_config", "thinker_config.text_config"}) {
    std::string outer = std::string("$.") + part;
    if (json.type(outer) != "object") continue;
    prefix_ = outer + '.';
    return;
  }
}

std::optional<long long> ModelFields::integer(Names names) const {
  for (const char* name : names)
    if (has(name)) return json_.integer(path(name));
  return std::nullopt;
}

std::optional<double> ModelFields::number(Names names) const {
  for (const char* name : names)
    if (has(name)) return json_.number(path(name));
  return std::nullopt;
}

int ModelFields::count(Names names) const {
  int value = count(names, 0);
  if (value == 0) complain(*names.begin(), "is missing");
  return value;
}

int ModelFields::count(Names names, int fallback) const {
  for (const char* name : names) {
    std::optional<long long> value = integer({name});
    if (!value) continue;
    if (*value < 1 || *value > kMostCount)
      complain(name, fmt::format("is {}, it must be a number from 1 to {}", *value, kMostCount));
    return static_cast<int>(*value);
  }
  return fallback;
}

std::string ModelFields::path(const char* name, int index) const {
  return fmt::format("{}{}[{}]", prefix_, name, index);
}

void ModelFields::complain(const char* name, const std::string& what) const {
  fail(Status::invalid_argument, "{}: {} {}", json_.name(), path(name).substr(2), what);
}

}  // namespace qrow
