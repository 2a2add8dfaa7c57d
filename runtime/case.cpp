#include "runtime/case.hpp"

#include <algorithm>
#include <vector>

#include "runtime/base/file.hpp"
#include "runtime/case_words.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

// Takes the next blank-separated word off `line`; "" at the end.
std::string_view next_word(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(kBlank), line->size()));
  std::string_view word = line->substr(0, line->find_first_of(kBlank));
  line->remove_prefix(word.size());
  return word;
}

std::size_t find_word(std::string_view key) {
  std::string legal;
  std::span<const CaseWord> words = case_words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].key == key) return i;
    legal += (legal.empty() ? "" : ", ") + std::string(words[i].key);
  }
  fail(Status::invalid_argument, "case word '{}' is unknown: legal are {}", key, legal);
}

template <typename Number>
bool all_equal(const std::vector<Number>& list, Number value) {
  return std::all_of(list.begin(), list.end(), [&](Number number) { return number == value; });
}

// A list is for all requests, so it states or must match `batch`; equal entries collapse to the
// short form.
void settle_workload(Case& c) {
  auto match = [&](std::string_view key, std::size_t count) {
    if (c.batch == 0) c.batch = static_cast<int>(count);
    if (count != static_cast<std::size_t>(c.batch))
      fail(Status::invalid_argument,
           "{}: the list is for {} requests, batch={}: they must be equal", key, count, c.batch);
  };
  if (c.lens.size() > 1) match("len", c.lens.size());
  if (!c.ragged.empty()) match("ragged", c.ragged.size());
  if (c.lens.size() > 1 && all_equal(c.lens, c.lens[0])) c.lens.resize(1);
  if (all_equal(c.ragged, c.spec.max_rows)) c.ragged.clear();
}

void settle_defaults(Case& c, const std::vector<bool>& seen) {
  auto given = [&](std::string_view key) { return seen[find_word(key)]; };
  if (!given("kv")) c.spec.kv_dtype = default_kv_dtype(c.spec.q_dtype);
  if (!given("scale")) c.spec.scale = default_scale(c.spec.kv_dtype);
  if (c.scale_inline && c.spec.scale == Scale::none)
    fail(Status::invalid_argument,
         "scale_at=inline: there is no scale; give scale=token_head or leave scale_at out");
  if (c.tree_chain && c.spec.mask != Mask::tree)
    fail(Status::invalid_argument, "tree=chain: only with mask=tree");
}

void require(bool holds, std::string_view field, long long value, std::string_view legal) {
  if (!holds) fail(Status::invalid_argument, "{} is {}: legal is {}", field, value, legal);
}

bool any_of(int value, std::initializer_list<DType> types) {
  return std::any_of(types.begin(), types.end(),
                     [&](DType type) { return static_cast<int>(type) == value; });
}

}  // namespace

long long Case::max_len() const {
  return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
}

bool Case::has_layout(std::string_view word) const {
  return ('+' + layout + '+').find('+' + std::string(word) + '+') != std::string::npos;
}

int default_kv_dtype(int q_dtype) {
  return static_cast<int>(any_of(q_dtype, {DType::bf16, DType::f16}) ? DType{q_dtype}
                                                                     : DType::e4m3);
}

Scale default_scale(int kv_dtype) {
  return any_of(kv_dtype, {DType::e4m3, DType::e5m2, DType::int8}) ? Scale::tensor : Scale::none;
}

Case parse_case(std::string_view line) {
  Case c;
  std::vector<bool> seen(case_words().size());
  while (true) {
    std::string_view word = next_word(&line);
    if (word.empty()) break;
    std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      fail(Status::invalid_argument,
           "case word '{}' has no value: words are key=value (heads=64/8 rows=4)", word);
    std::string_view key = word.substr(0, equals);
    std::size_t index = find_word(key);
    if (seen[index]) fail(Status::invalid_argument, "case word '{}' is given twice", key);
    seen[index] = true;
    case_words()[index].read(c, key, word.substr(equals + 1));
  }
  if (!seen[find_word("heads")])
    fail(Status::invalid_argument,
         "a case needs heads=query heads/KV heads, for example heads=64/8");
  settle_defaults(c, seen);
  settle_workload(c);
  check_spec(c.spec);
  return c;
}

std::string format_case(const Case& c) {
  std::string line;
  for (const CaseWord& word : case_words()) {
    std::string value = word.write(c);
    if (!value.empty()) line += fmt::format("{}{}={}", line.empty() ? "" : " ", word.key, value);
  }
  return line;
}

std::string format_spec(const Spec& spec) {
  Case c;
  c.spec = spec;
  return format_case(c);
}

void check_spec(const Spec& spec) {
  constexpr int kMost = 4096;  // keeps heads x head_dim and rows x heads within an int
  require(spec.num_q_heads >= 1 && spec.num_q_heads <= kMost, "num_q_heads", spec.num_q_heads,
          "1 to 4096");
  require(spec.num_kv_heads >= 1 && spec.num_kv_heads <= kMost, "num_kv_heads", spec.num_kv_heads,
          "1 to 4096");
  if (spec.num_q_heads % spec.num_kv_heads != 0)
    fail(Status::invalid_argument,
         "heads={}/{}: the number of query heads must be a multiple of the number of KV heads",
         spec.num_q_heads, spec.num_kv_heads);
  require(spec.head_dim >= 1 && spec.head_dim <= kMost, "head_dim", spec.head_dim, "1 to 4096");
  require(spec.head_dim_v >= 1 && spec.head_dim_v <= kMost, "head_dim_v", spec.head_dim_v,
          "1 to 4096");
  require(spec.max_rows >= 1 && spec.max_rows <= 1024, "max_rows", spec.max_rows, "1 to 1024");
  require(spec.page_size >= 1 && spec.page_size <= 1 << 24, "page_size", spec.page_size,
          "1 to 16777216");
  require(any_of(spec.q_dtype, {DType::bf16, DType::f16, DType::e4m3}), "q_dtype", spec.q_dtype,
          "bf16, f16, e4m3");
  require(any_of(spec.kv_dtype, {DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::int8}),
          "kv_dtype", spec.kv_dtype, "bf16, f16, e4m3, e5m2, int8");
  require(any_of(spec.out_dtype, {DType::bf16, DType::f16, DType::f32, DType::e4m3}), "out_dtype",
          spec.out_dtype, "bf16, f16, f32, e4m3");
  int scale = static_cast<int>(spec.scale);
  require(scale >= 1 && scale <= 4, "scale", scale, "1 none, 2 tensor, 3 head, 4 token_head");
  int mask = static_cast<int>(spec.mask);
  require(mask >= 0 && mask <= 3, "mask", mask, "0 causal, 1 none, 2 tree, 3 limits");
  int lse = static_cast<int>(spec.lse);
  require(lse >= 0 && lse <= 2, "lse", lse, "0 off, 1 base e, 2 base 2");
  int numerics = static_cast<int>(spec.numerics);
  require(numerics >= 0 && numerics <= 2, "numerics", numerics,
          "0 fast, 1 batch_invariant, 2 row_invariant");
  for (auto [field, flag] : {std::pair("window", spec.window),
                             {"softcap", spec.softcap},
                             {"sinks", spec.sinks},
                             {"partial", spec.partial}})
    require(flag == 0 || flag == 1, field, flag, "0 or 1");
}

std::vector<Case> read_case_file(const std::string& path) {
  std::vector<Case> cases;
  std::string text = read_file(path);
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    try {
      cases.push_back(parse_case(line));
    } catch (const Error& error) {
      throw Error(error.status(), fmt::format("{}:{}: {}", path, number, error.what()));
    }
  }
  return cases;
}

}  // namespace qrow
