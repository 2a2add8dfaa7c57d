// Reads a small JSON document by paths ("$.text_config.head_dim", "$.layer_types[3]"), through the
// JSON functions that sqlite brings. For files that people hand in, so every complaint names the
// file and the field. Single-threaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace qrow {

class JsonReader {
 public:
  // `name` is what messages call the document. Throws Error(invalid_argument) if `text` is not
  // JSON.
  JsonReader(std::string name, std::string text);
  ~JsonReader();
  JsonReader(JsonReader&& other) noexcept;

  // "object", "array", "integer", "real", "text", "true", "false", "null", or "" where there is
  // nothing.
  std::string type(const std::string& path) const;
  // A value is there and it is not null.
  bool has(const std::string& path) const;

  // Nothing where missing or null. Throw Error(invalid_argument) where the value is of another
  // type.
  std::optional<long long> integer(const std::string& path) const;
  std::optional<double> number(const std::string& path) const;
  std::optional<std::string> text(const std::string& path) const;
  std::optional<bool> boolean(const std::string& path) const;
  // Entries of an array; nothing where missing or null.
  std::optional<int> array_size(const std::string& path) const;

  const std::string& name() const { return name_; }

 private:
  struct State;
  [[noreturn]] void wrong_type(const std::string& path, const char* wanted) const;

  std::string name_;
  std::string text_;
  std::unique_ptr<State> state_;
};

// Is this one valid JSON value?
bool is_json(std::string_view text);

}  // namespace qrow
