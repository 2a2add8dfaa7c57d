// The words after a sub-command's name. A command takes the options that it knows by name, then the
// remaining words; taking the words refuses options that nobody took. Owned by one command's run;
// single-threaded.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qrow {

class Arguments {
 public:
  explicit Arguments(std::span<const char* const> words);

  // "--dry-run". True where given.
  bool flag(std::string_view name);
  // "--jobs 4" or "--jobs=4"; the last one given counts. Throws Error(invalid_argument) where the
  // value is missing.
  std::optional<std::string> value(std::string_view name);
  // Every value of an option that may be repeated, in order.
  std::vector<std::string> values(std::string_view name);
  // Throws Error(invalid_argument) naming the option, the value and the legal range.
  int integer(std::string_view name, int fallback, int low, int high);
  // "a,b,c"; empty where the option is not given. Throws for empty entries.
  std::vector<std::string> list(std::string_view name);

  // The words that are no options. Throws Error(invalid_argument) for an option that was not taken
  // before, listing those that were. After "--" every word counts as a word.
  std::vector<std::string> words();
  // The same with a number of words that must fit; `form` is what the message shows ("qrow export
  // FILE").
  std::vector<std::string> words(std::size_t least, std::size_t most, std::string_view form);

 private:
  std::optional<std::string> take(std::string_view name, bool has_value);

  std::vector<std::string> left_;
  std::vector<std::string> after_dashes_;
  std::vector<std::string> known_;
};

// "4", "1-8", "1,2,4-6": ascending numbers without repeats, each within [low, high]. Throws
// Error(invalid_argument).
std::vector<int> parse_int_ranges(std::string_view option, std::string_view text, int low,
                                  int high);

}  // namespace qrow
