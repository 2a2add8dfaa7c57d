// The language part of a config.json and the several names under which models write the same
// number. Used by the model reader's two halves: model_layers (which kinds of layer) and
// model_config (what each kind needs).
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "runtime/tools/json_reader.hpp"

namespace qrow {

using Names = std::initializer_list<const char*>;

class ModelFields {
 public:
  // Finds the language part: the document itself or what lies under text_config and the like.
  explicit ModelFields(const JsonReader& json);

  // The first name that is there; nothing where none is (or null).
  std::optional<long long> integer(Names names) const;
  std::optional<double> number(Names names) const;
  std::optional<std::string> text(const char* name) const { return json_.text(path(name)); }
  std::optional<bool> boolean(const char* name) const { return json_.boolean(path(name)); }
  std::optional<int> array_size(const char* name) const { return json_.array_size(path(name)); }
  std::string type(const char* name) const { return json_.type(path(name)); }
  bool has(const char* name) const { return json_.has(path(name)); }
  // A positive number that must be there. Throws Error(invalid_argument) naming the first name.
  int count(Names names) const;
  // The same, or `fallback` where it is missing.
  int count(Names names, int fallback) const;

  // "$.text_config.head_dim", "$.text_config.layer_types[3]"
  std::string path(const char* name) const { return prefix_ + name; }
  std::string path(const char* name, int index) const;
  const JsonReader& json() const { return json_; }

  // Throws Error(invalid_argument): file, field, what is wrong with it.
  [[noreturn]] void complain(const char* name, const std::string& what) const;

 private:
  const JsonReader& json_;
  std::string prefix_ = "$.";
};

}  // namespace qrow
