#include "runtime/tools/json_writer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace qrow {
namespace {

// Bytes of the UTF-8 sequence at the start of `text`, 0 if it is malformed (overlong forms and
// surrogates included).
std::size_t utf8_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  unsigned second = byte(1);
  bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
             (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    char first = text[0];
    if (length == 0) {
      quoted += "\xef\xbf\xbd";  // U+FFFD
      length = 1;
    } else if (first == '"' || first == '\\') {
      quoted += '\\';
      quoted += first;
    } else if (first == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(first) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      quoted += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return quoted + '"';
}

JsonObject& JsonObject::add_raw(std::string_view name, std::string_view json) {
  if (!body_.empty()) body_ += ',';
  body_ += json_quote(name);
  body_ += ':';
  body_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view name, std::string_view value) {
  return add_raw(name, json_quote(value));
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  return add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonObject& JsonObject::add(std::string_view name, bool value) {
  return add_raw(name, value ? "true" : "false");
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<JsonObject>& values) {
  std::string json = "[";
  for (const JsonObject& value : values) json += (json.size() > 1 ? "," : "") + value.text();
  return add_raw(name, json + ']');
}

JsonObject& JsonObject::add(std::string_view name, const std::vector<std::string>& values) {
  std::string json = "[";
  for (const std::string& value : values) json += (json.size() > 1 ? "," : "") + json_quote(value);
  return add_raw(name, json + ']');
}

}  // namespace qrow
