#include "runtime/case_words.hpp"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <iterator>

#include "templates/families.hpp"

namespace qrow {
namespace {

// Requests of one case; keeps "1000000000x1" from filling the memory.
constexpr int kMaxBatch = 1 << 20;
constexpr long long kMaxLen = 0x7fffffff;  // kv_lens are int32

struct Choice {
  const char* word;
  int value;
};
constexpr Choice kDTypes[] = {{"bf16", 1}, {"f16", 2},  {"f32", 3},
                              {"e4m3", 4}, {"e5m2", 5}, {"int8", 6}};
constexpr Choice kQTypes[] = {{"bf16", 1}, {"f16", 2}, {"e4m3", 4}};
constexpr Choice kKvTypes[] = {{"bf16", 1}, {"f16", 2}, {"e4m3", 4}, {"e5m2", 5}, {"int8", 6}};
constexpr Choice kOutTypes[] = {{"bf16", 1}, {"f16", 2}, {"f32", 3}, {"e4m3", 4}};
constexpr Choice kScales[] = {{"none", 1}, {"tensor", 2}, {"head", 3}, {"token_head", 4}};
constexpr Choice kScalePlaces[] = {{"separate", 0}, {"inline", 1}};
constexpr Choice kMasks[] = {{"causal", 0}, {"none", 1}, {"tree", 2}, {"limits", 3}};
constexpr Choice kTrees[] = {{"random", 0}, {"chain", 1}};
constexpr Choice kSwitch[] = {{"off", 0}, {"on", 1}};
constexpr Choice kLse[] = {{"off", 0}, {"e", 1}, {"2", 2}};
constexpr Choice kNumerics[] = {{"fast", 0}, {"batch_invariant", 1}, {"row_invariant", 2}};
constexpr Choice kTables[] = {{"dense", 0}, {"csr", 1}};
constexpr std::string_view kLayouts[] = {"nhd",    "hnd",    "interleaved",
                                         "packed", "padded", "fused_q"};

[[noreturn]] void bad_value(std::string_view key, std::string_view value, std::string_view legal) {
  fail(Status::invalid_argument, "{}={}: legal is {}", key, value, legal);
}

int pick(std::string_view key, std::string_view value, std::span<const Choice> choices) {
  std::string legal;
  for (const Choice& choice : choices) {
    if (value == choice.word) return choice.value;
    legal += (legal.empty() ? "" : ", ") + std::string(choice.word);
  }
  bad_value(key, value, legal);
}

const char* word_of(int value, std::span<const Choice> choices) {
  for (const Choice& choice : choices)
    if (choice.value == value) return choice.word;
  return "?";
}

// The whole of `text` as a number within [low, high]; false otherwise.
template <typename Number>
bool read_number(std::string_view text, Number low, Number high, Number* number) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end && *number >= low && *number <= high;
}

template <typename Number>
Number number_of(std::string_view key, std::string_view value, Number low, Number high,
                 std::string_view legal) {
  Number number{};
  if (!read_number(value, low, high, &number)) bad_value(key, value, legal);
  return number;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// "64/8"; without a slash `second` is left alone and false comes back.
bool read_pair(std::string_view key, std::string_view value, std::string_view legal, int* first,
               int* second) {
  auto parts = split(value, '/');
  if (parts.size() > 2 || !read_number(parts[0], 1, 4096, first) ||
      (parts.size() == 2 && !read_number(parts[1], 1, 4096, second)))
    bad_value(key, value, legal);
  return parts.size() == 2;
}

// "65536,31x4096": single values and count x value, expanded.
template <typename Number>
std::vector<Number> read_list(std::string_view key, std::string_view value, Number high,
                              std::string_view legal) {
  std::vector<Number> list;
  for (std::string_view part : split(value, ',')) {
    int count = 1;
    if (std::size_t times = part.find('x'); times != std::string_view::npos) {
      if (!read_number(part.substr(0, times), 1, kMaxBatch, &count)) bad_value(key, value, legal);
      part.remove_prefix(times + 1);
    }
    Number number{};
    if (!read_number(part, Number{0}, high, &number) ||
        list.size() + static_cast<std::size_t>(count) > kMaxBatch)
      bad_value(key, value, legal);
    list.insert(list.end(), static_cast<std::size_t>(count), number);
  }
  return list;
}

// The inverse: runs of equal values as count x value.
template <typename Number>
std::string write_list(const std::vector<Number>& list) {
  std::string text;
  for (auto run = list.begin(); run != list.end();) {
    auto end = std::find_if(run, list.end(), [&](Number number) { return number != *run; });
    if (!text.empty()) text += ',';
    if (end - run > 1) text += fmt::format("{}x", end - run);
    text += fmt::format("{}", *run);
    run = end;
  }
  return text;
}

std::string read_layout(std::string_view value) {
  constexpr std::string_view legal =
      "nhd or hnd, interleaved or packed, padded, fused_q, joined by '+'";
  std::bitset<std::size(kLayouts)> seen;
  for (std::string_view part : split(value, '+')) {
    auto found = std::find(std::begin(kLayouts), std::end(kLayouts), part);
    if (found == std::end(kLayouts)) bad_value("layout", value, legal);
    seen.set(static_cast<std::size_t>(found - kLayouts));
  }
  if ((seen[0] && seen[1]) || (seen[2] && seen[3])) bad_value("layout", value, legal);
  std::string text;
  for (std::size_t i = 1; i < std::size(kLayouts); ++i)
    if (seen[i]) text += (text.empty() ? "" : "+") + std::string(kLayouts[i]);
  return text.empty() ? "nhd" : text;
}

std::string read_family(std::string_view value) {
  if (value == "auto") return {};
  std::string legal = "auto";
  for (const Family* family : families()) {
    if (family->role() != Family::Role::attention) continue;
    if (family->name() == value) return std::string(value);
    legal += ", " + std::string(family->name());
  }
  bad_value("family", value, legal);
}

// Form only: which axes exist is the family's to say (parse_tuning).
std::string read_tuning(std::string_view value) {
  if (value == "auto") return {};
  for (std::string_view part : split(value, ',')) {
    std::size_t colon = part.find(':');
    int number = 0;
    if (colon == 0 || colon == std::string_view::npos ||
        !read_number(part.substr(colon + 1), 0, 1 << 30, &number))
      bad_value(
          "tuning", value,
          "auto, or axis:number joined by ',' (tile_tokens:32,num_stages:3), numbers from 0 to "
          "1073741824");
  }
  return std::string(value);
}

std::string unless(bool is_default, std::string text) {
  return is_default ? std::string() : std::move(text);
}

// In the documented order, which is the canonical order.
constexpr CaseWord kWords[] = {
    {"heads",
     [](Case& c, std::string_view key, std::string_view value) {
       constexpr std::string_view legal =
           "query heads / KV heads (64/8), each from 1 to 4096, the first a multiple of the second";
       if (!read_pair(key, value, legal, &c.spec.num_q_heads, &c.spec.num_kv_heads))
         bad_value(key, value, legal);
     },
     [](const Case& c) { return fmt::format("{}/{}", c.spec.num_q_heads, c.spec.num_kv_heads); }},
    {"d",
     [](Case& c, std::string_view key, std::string_view value) {
       if (!read_pair(key, value,
                      "head_dim (128) or that of q and k / of v (192/128), each from 1 to 4096",
                      &c.spec.head_dim, &c.spec.head_dim_v))
         c.spec.head_dim_v = c.spec.head_dim;
     },
     [](const Case& c) {
       if (c.spec.head_dim != c.spec.head_dim_v)
         return fmt::format("{}/{}", c.spec.head_dim, c.spec.head_dim_v);
       return unless(c.spec.head_dim == 128, fmt::format("{}", c.spec.head_dim));
     }},
    {"rows",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.max_rows = number_of(key, value, 1, 1024, "an integer from 1 to 1024");
     },
     [](const Case& c) {
       return unless(c.spec.max_rows == 1, fmt::format("{}", c.spec.max_rows));
     }},
    {"page",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.page_size = number_of(key, value, 1, 1 << 24, "an integer from 1 to 16777216");
     },
     [](const Case& c) {
       return unless(c.spec.page_size == 64, fmt::format("{}", c.spec.page_size));
     }},
    {"q",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.q_dtype = pick(key, value, kQTypes);
     },
     [](const Case& c) { return unless(c.spec.q_dtype == 1, dtype_word(c.spec.q_dtype)); }},
    {"kv",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.kv_dtype = pick(key, value, kKvTypes);
     },
     [](const Case& c) {
       return unless(c.spec.kv_dtype == default_kv_dtype(c.spec.q_dtype),
                     dtype_word(c.spec.kv_dtype));
     }},
    {"out",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.out_dtype = pick(key, value, kOutTypes);
     },
     [](const Case& c) { return unless(c.spec.out_dtype == 1, dtype_word(c.spec.out_dtype)); }},
    {"scale",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.scale = static_cast<Scale>(pick(key, value, kScales));
     },
     [](const Case& c) {
       return unless(c.spec.scale == default_scale(c.spec.kv_dtype),
                     word_of(static_cast<int>(c.spec.scale), kScales));
     }},
    {"scale_at",
     [](Case& c, std::string_view key, std::string_view value) {
       c.scale_inline = pick(key, value, kScalePlaces) != 0;
     },
     [](const Case& c) { return unless(!c.scale_inline, "inline"); }},
    {"mask",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.mask = static_cast<Mask>(pick(key, value, kMasks));
     },
     [](const Case& c) {
       return unless(c.spec.mask == Mask::causal, word_of(static_cast<int>(c.spec.mask), kMasks));
     }},
    {"tree",
     [](Case& c, std::string_view key, std::string_view value) {
       c.tree_chain = pick(key, value, kTrees) != 0;
     },
     [](const Case& c) { return unless(!c.tree_chain, "chain"); }},
    {"window",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.window = value != "off";
       if (value != "off" && value != "on")
         c.window = number_of(
             key, value, 1LL, kMaxLen,
             "off, on (the width comes with the call), or a width of 1 to 2147483647 keys");
     },
     [](const Case& c) {
       return unless(!c.spec.window,
                     c.window > 0 ? fmt::format("{}", c.window) : std::string("on"));
     }},
    {"softcap",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.softcap = value != "off";
       if (value != "off" && value != "on")
         c.softcap =
             number_of(key, value, 1e-6, 1e6,
                       "off, on (the value comes with the call), or a number from 1e-6 to 1e6");
     },
     [](const Case& c) {
       return unless(!c.spec.softcap,
                     c.softcap > 0 ? fmt::format("{}", c.softcap) : std::string("on"));
     }},
    {"sinks",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.sinks = pick(key, value, kSwitch);
     },
     [](const Case& c) { return unless(!c.spec.sinks, "on"); }},
    {"lse",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.lse = static_cast<Lse>(pick(key, value, kLse));
     },
     [](const Case& c) {
       return unless(c.spec.lse == Lse::off, word_of(static_cast<int>(c.spec.lse), kLse));
     }},
    {"partial",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.partial = pick(key, value, kSwitch);
     },
     [](const Case& c) { return unless(!c.spec.partial, "on"); }},
    {"maths",
     [](Case&, std::string_view key, std::string_view value) {
       if (value == "fp8")
         fail(Status::unsupported,
              "maths=fp8 (Q and P quantised too) is reserved: accurate 8-bit KV is as fast; leave "
              "it out");
       if (value != "accurate") bad_value(key, value, "accurate");
     },
     [](const Case&) { return std::string(); }},
    {"numerics",
     [](Case& c, std::string_view key, std::string_view value) {
       c.spec.numerics = static_cast<Numerics>(pick(key, value, kNumerics));
     },
     [](const Case& c) {
       return unless(c.spec.numerics == Numerics::fast,
                     word_of(static_cast<int>(c.spec.numerics), kNumerics));
     }},
    {"batch",
     [](Case& c, std::string_view key, std::string_view value) {
       c.batch = number_of(key, value, 1, kMaxBatch, "an integer from 1 to 1048576");
     },
     [](const Case& c) { return unless(c.batch == 0, fmt::format("{}", c.batch)); }},
    {"len",
     [](Case& c, std::string_view key, std::string_view value) {
       c.lens = read_list(
           key, value, kMaxLen,
           "tokens per request, each from 0 to 2147483647: one number, or a list for all requests "
           "(65536,31x4096), of at most 1048576");
     },
     [](const Case& c) { return write_list(c.lens); }},
    {"ragged",
     [](Case& c, std::string_view key, std::string_view value) {
       c.ragged = read_list(
           key, value, 1024,
           "rows of each request (1,5,0,8,3 or 4x2), each from 0 to 1024, at most 1048576 of them");
     },
     [](const Case& c) { return write_list(c.ragged); }},
    {"layout",
     [](Case& c, std::string_view, std::string_view value) { c.layout = read_layout(value); },
     [](const Case& c) { return unless(c.layout == "nhd", c.layout); }},
    {"table",
     [](Case& c, std::string_view key, std::string_view value) {
       c.csr = pick(key, value, kTables) != 0;
     },
     [](const Case& c) { return unless(!c.csr, "csr"); }},
    {"splits",
     [](Case& c, std::string_view key, std::string_view value) {
       c.splits = value == "auto"
                      ? 0
                      : number_of(key, value, 1, 65535, "auto or an integer from 1 to 65535");
     },
     [](const Case& c) { return unless(c.splits == 0, fmt::format("{}", c.splits)); }},
    {"family",
     [](Case& c, std::string_view, std::string_view value) { c.family = read_family(value); },
     [](const Case& c) { return c.family; }},
    {"tuning",
     [](Case& c, std::string_view, std::string_view value) { c.tuning = read_tuning(value); },
     [](const Case& c) { return c.tuning; }},
    {"seed",
     [](Case& c, std::string_view key, std::string_view value) {
       c.seed = number_of(key, value, 0ULL, ~0ULL, "an integer from 0 to 18446744073709551615");
     },
     [](const Case& c) { return unless(c.seed == 1, fmt::format("{}", c.seed)); }},
};

}  // namespace

std::span<const CaseWord> case_words() { return kWords; }

const char* dtype_word(int dtype) { return word_of(dtype, kDTypes); }

}  // namespace qrow
