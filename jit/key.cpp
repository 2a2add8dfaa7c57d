#include "jit/key.hpp"

#include <iterator>

namespace qrow {

// Words "name=value" separated by spaces, one fact a word: `explain` compares two keys word by word
// to name what differs.
Key make_key(const Variant& variant, const Digest& sources) {
  Key key;
  auto out = std::back_inserter(key.text);
  fmt::format_to(out, "entry={} family={} arch={}", kEntryFormat, variant.family,
                 variant.arch->name);
  for (const NamedInt& field : variant.spec)
    fmt::format_to(out, " spec.{}={}", field.name, field.value);
  for (const NamedInt& field : variant.tuning)
    fmt::format_to(out, " tuning.{}={}", field.name, field.value);
  for (const ArchFeature& feature : arch_features()) {
    fmt::format_to(out, " target.{}={}", feature.name, variant.arch->*feature.value);
  }
  fmt::format_to(out, " registers={} threads={} smem={} sources={}", variant.register_cap,
                 variant.threads, variant.smem_bytes, sources.hex());
  key.digest = digest_of(key.text);
  return key;
}

}  // namespace qrow
