#include "jit/family.hpp"

#include <algorithm>
#include <charconv>

namespace qrow {
namespace {

std::string names_of(std::span<const AxisInfo> axes) {
  std::string text;
  for (const AxisInfo& axis : axes) {
    if (!text.empty()) text += ", ";
    text += axis.name;
  }
  return text.empty() ? "none" : text;
}

// One "name:value" word; writes the value at its axis and returns the axis' index.
std::size_t parse_word(const Family& family, std::string_view word, Tuning& tuning) {
  const std::span<const AxisInfo> axes = family.axes();
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  const auto axis =
      std::find_if(axes.begin(), axes.end(), [&](const AxisInfo& a) { return a.name == name; });
  if (axis == axes.end()) {
    fail(Status::invalid_argument, "tuning word '{}': family {} has no axis '{}'; its axes are {}",
         word, family.name(), name, names_of(axes));
  }
  const std::string_view digits = colon == std::string_view::npos ? "" : word.substr(colon + 1);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool number = error == std::errc() && end == digits.data() + digits.size();
  if (!number || std::find(axis->values.begin(), axis->values.end(), value) == axis->values.end()) {
    fail(Status::invalid_argument, "tuning word '{}': '{}' is not a value of {}; legal: {}", word,
         digits, name, fmt::join(axis->values, ", "));
  }
  const auto index = static_cast<std::size_t>(axis - axes.begin());
  tuning[index] = value;
  return index;
}

}  // namespace

Tuning parse_tuning(const Family& family, std::string_view text, Tuning base) {
  if (base.size() != family.axes().size()) {
    fail(Status::internal, "family {} has {} tuning axes, the base has {}", family.name(),
         family.axes().size(), base.size());
  }
  std::vector<bool> seen(base.size());
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const std::size_t index = parse_word(family, word, base);
    if (seen[index])
      fail(Status::invalid_argument, "tuning word '{}': the axis is given twice", word);
    seen[index] = true;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return base;
}

std::string format_tuning(const Family& family, const Tuning& tuning) {
  const std::span<const AxisInfo> axes = family.axes();
  std::string text;
  for (std::size_t i = 0; i < axes.size() && i < tuning.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}", i == 0 ? "" : ",", axes[i].name, tuning[i]);
  }
  return text;
}

}  // namespace qrow
