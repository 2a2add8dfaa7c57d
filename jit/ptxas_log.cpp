#include "jit/ptxas_log.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace qrow {
namespace {

// The number before `words` in a line such as "Used 10 registers, 128 bytes smem, ...", or nothing.
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t first = at;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  int value = 0;
  const auto [end, error] = std::from_chars(line.data() + first, line.data() + at, value);
  if (error != std::errc() || end != line.data() + at) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view kernel) {
  const std::string opening = "Compiling entry function '" + std::string(kernel) + "'";
  Resources found;
  bool in_kernel = false, has_registers = false, has_spills = false;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size() - 1);
    const std::string_view line = log.substr(0, end + 1);
    log.remove_prefix(end + 1);
    if (line.find("Compiling entry function") != std::string_view::npos) {
      in_kernel = line.find(opening) != std::string_view::npos;
    }
    if (const auto stores = number_before(line, " bytes spill stores")) {
      has_spills = true;
      found.spill_store_bytes += *stores;
      found.spill_load_bytes += number_before(line, " bytes spill loads").value_or(0);
      found.stack_bytes =
          std::max(found.stack_bytes, number_before(line, " bytes stack frame").value_or(0));
    }
    if (!in_kernel) continue;
    if (const auto registers = number_before(line, " registers")) {
      has_registers = true;
      found.registers = *registers;
      found.static_smem_bytes = number_before(line, " bytes smem").value_or(0);
    }
  }
  if (!has_registers || !has_spills) return std::nullopt;
  return found;
}

}  // namespace qrow
