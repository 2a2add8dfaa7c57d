// Writes JSON: one object at a time, fields in the order in which they are added. Text that is not
// UTF-8 (a path) is written with replacement characters, so that a line always parses.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace qrow {

class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view value);
  JsonObject& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  JsonObject& add(std::string_view name, double value);  // null where not finite
  JsonObject& add(std::string_view name, bool value);
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonObject& add(std::string_view name, Integer value) {
    return add_raw(name, std::to_string(value));
  }
  JsonObject& add(std::string_view name, const JsonObject& value) {
    return add_raw(name, value.text());
  }
  JsonObject& add(std::string_view name, const std::vector<JsonObject>& values);
  JsonObject& add(std::string_view name, const std::vector<std::string>& values);

  std::string text() const { return '{' + body_ + '}'; }

 private:
  JsonObject& add_raw(std::string_view name, std::string_view json);
  std::string body_;
};

// With the quotes.
std::string json_quote(std::string_view text);

}  // namespace qrow
