#include "jit/entry.hpp"

#include <iterator>
#include <string_view>
#include <vector>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

// By hand: isalpha depends on the locale.
bool is_identifier(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9');
}

std::string_view checked(std::string_view name) {
  if (!is_identifier(name)) {
    fail(Status::internal, "'{}' is no C++ identifier: it must not reach generated code", name);
  }
  return name;
}

// "constexpr qrow::Type kName{.a = 1, .b = 2};"
std::string constant(std::string_view type, std::string_view name,
                     const std::vector<NamedInt>& fields) {
  std::string text = fmt::format("constexpr qrow::{} {}{{", checked(type), name);
  std::string_view separator;
  for (const NamedInt& field : fields) {
    fmt::format_to(std::back_inserter(text), "{}.{} = {}", separator, checked(field.name),
                   field.value);
    separator = ", ";
  }
  return text + "};\n";
}

std::vector<NamedInt> target_of(const Arch& arch) {
  std::vector<NamedInt> fields;
  for (const ArchFeature& feature : arch_features())
    fields.push_back({feature.name, arch.*feature.value});
  return fields;
}

// A cap and __launch_bounds__ exclude each other in the compiler. Without a cap the bound lets it
// use what the block size allows, which is not the same as a cap of 255 (measured: 127 against 152
// registers on one decode kernel).
std::string launch_attribute(const Variant& variant) {
  return variant.register_cap > 0 ? fmt::format("__maxnreg__({})", variant.register_cap)
                                  : fmt::format("__launch_bounds__({})", variant.threads);
}

}  // namespace

std::string entry_name(const Variant& variant, const Key& key) {
  return fmt::format("qrow_{}_{}", checked(variant.family), key.digest.hex().substr(0, 8));
}

std::string entry_text(const Variant& variant, const Key& key) {
  std::string text = fmt::format("#include \"templates/{}/kernel.cuh\"\n", checked(variant.family));
  text += constant(variant.spec_type, "kSpec", variant.spec);
  text += constant(variant.tuning_type, "kTuning", variant.tuning);
  text += constant("Target", "kTarget", target_of(*variant.arch));
  if (variant.has_smem_check) {
    text += fmt::format(
        "static_assert(qrow::smem_bytes(kSpec, kTuning) == {}, \"host and device disagree about "
        "shared memory\");\n",
        variant.smem_bytes);
  }
  text += fmt::format(
      "extern \"C\" __global__ void {} {}(const __grid_constant__ qrow::{} params) {{\n"
      "  qrow::{}_kernel<kSpec, kTuning, kTarget>(params);\n"
      "}}\n",
      launch_attribute(variant), entry_name(variant, key), checked(variant.params_type),
      variant.family);
  return text;
}

}  // namespace qrow
