#include "runtime/tools/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

bool read_int(std::string_view text, int* number) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

}  // namespace

Arguments::Arguments(std::span<const char* const> words) {
  std::vector<std::string>* to = &left_;
  for (std::string_view word : words) {
    if (to == &left_ && word == "--") {
      to = &after_dashes_;
    } else {
      to->emplace_back(word);
    }
  }
}

std::optional<std::string> Arguments::take(std::string_view name, bool has_value) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
  std::string with_equals = std::string(name) + '=';
  for (auto word = left_.begin(); word != left_.end(); ++word) {
    if (*word == name) {
      std::string value;
      auto end = word + 1;
      if (has_value) {
        if (end == left_.end() || end->starts_with("--"))
          fail(Status::invalid_argument, "{} needs a value; 'qrow COMMAND --help' shows an example",
               name);
        value = *end++;
      }
      left_.erase(word, end);
      return value;
    }
    if (word->starts_with(with_equals)) {
      if (!has_value) fail(Status::invalid_argument, "{} takes no value", name);
      std::string value = word->substr(with_equals.size());
      left_.erase(word);
      return value;
    }
  }
  return std::nullopt;
}

bool Arguments::flag(std::string_view name) {
  bool given = false;
  while (take(name, false)) given = true;
  return given;
}

std::vector<std::string> Arguments::values(std::string_view name) {
  std::vector<std::string> all;
  while (std::optional<std::string> value = take(name, true)) {
    if (value->empty()) fail(Status::invalid_argument, "{} is given an empty value", name);
    all.push_back(*std::move(value));
  }
  return all;
}

std::optional<std::string> Arguments::value(std::string_view name) {
  std::vector<std::string> all = values(name);
  if (all.empty()) return std::nullopt;
  return all.back();
}

int Arguments::integer(std::string_view name, int fallback, int low, int high) {
  std::optional<std::string> text = value(name);
  if (!text) return fallback;
  int number = 0;
  if (!read_int(*text, &number) || number < low || number > high)
    fail(Status::invalid_argument, "{} {}: legal is an integer from {} to {}", name, *text, low,
         high);
  return number;
}

std::vector<std::string> Arguments::list(std::string_view name) {
  std::vector<std::string> all;
  for (const std::string& text : values(name)) {
    for (std::string& part : split(text)) {
      if (part.empty())
        fail(Status::invalid_argument, "{} {}: an entry between the commas is empty", name, text);
      all.push_back(std::move(part));
    }
  }
  return all;
}

std::vector<std::string> Arguments::words() {
  for (const std::string& word : left_) {
    if (!is_option(word)) continue;
    std::string legal;
    for (const std::string& name : known_) legal += (legal.empty() ? "" : ", ") + name;
    fail(Status::invalid_argument, "option {} is unknown: legal are {}", word, legal);
  }
  std::vector<std::string> all = left_;
  all.insert(all.end(), after_dashes_.begin(), after_dashes_.end());
  return all;
}

std::vector<std::string> Arguments::words(std::size_t least, std::size_t most,
                                          std::string_view form) {
  std::vector<std::string> all = words();
  if (all.size() < least)
    fail(Status::invalid_argument, "something is missing: the form is '{}'", form);
  if (all.size() > most)
    fail(Status::invalid_argument, "'{}' is one word too many: the form is '{}'", all[most], form);
  return all;
}

std::vector<int> parse_int_ranges(std::string_view option, std::string_view text, int low,
                                  int high) {
  std::set<int> numbers;
  for (const std::string& part : split(text)) {
    std::size_t dash = part.find('-', 1);
    std::string_view whole = part;
    int first = 0, last = 0;
    bool good = read_int(whole.substr(0, dash), &first);
    last = first;
    if (dash != std::string::npos) good = good && read_int(whole.substr(dash + 1), &last);
    if (!good || first > last || first < low || last > high)
      fail(Status::invalid_argument,
           "{} {}: legal are integers from {} to {} and ranges of them (1,2,4-8)", option, text,
           low, high);
    for (int number = first; number <= last; ++number) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace qrow
