#include "runtime/tools/kernel_rows.hpp"

#include <algorithm>
#include <sstream>

namespace qrow {

JsonObject row_record(const KernelRow& row) {
  JsonObject record;
  record.add("case", row.case_line)
      .add("key", row.key.hex())
      .add("arch", row.arch)
      .add("family", row.family);
  record.add("regs", row.registers)
      .add("spill_bytes", row.spill_bytes)
      .add("stack_bytes", row.stack_bytes);
  record.add("smem_bytes", row.smem_bytes)
      .add("cubin_bytes", row.cubin_bytes)
      .add("ms", row.compile_ms);
  record.add("entry", row.entry_name)
      .add("nvrtc", row.nvrtc_build)
      .add("created_unix", row.created_unix);
  return record.add("pinned", row.pinned);
}

std::vector<std::pair<std::string, std::string>> key_words(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    std::size_t equals = std::min(word.find('='), word.size());
    words.emplace_back(word.substr(0, equals), equals < word.size() ? word.substr(equals + 1) : "");
  }
  return words;
}

std::vector<KeyDifference> key_differences(const std::string& asked, const std::string& stored) {
  std::vector<KeyDifference> differences;
  std::vector<std::pair<std::string, std::string>> other = key_words(stored);
  for (const auto& [name, value] : key_words(asked)) {
    auto found = std::find_if(other.begin(), other.end(),
                              [&wanted = name](const auto& word) { return word.first == wanted; });
    if (found == other.end()) {
      differences.push_back({name, value, ""});
    } else {
      if (found->second != value) differences.push_back({name, value, found->second});
      other.erase(found);
    }
  }
  for (const auto& [name, value] : other) differences.push_back({name, "", value});
  return differences;
}

}  // namespace qrow
