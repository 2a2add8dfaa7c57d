#include "runtime/tools/workbench_cases.hpp"

namespace qrow {

std::vector<Case> cases_from(const std::vector<std::string>& words,
                             const std::vector<std::string>& files) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (lines.empty() || word.find("heads=") != std::string::npos) {
      lines.push_back(word);
    } else {
      lines.back() += ' ' + word;
    }
  }
  std::vector<Case> cases;
  for (const std::string& line : lines) cases.push_back(parse_case(line));
  for (const std::string& file : files) {
    for (Case& c : read_case_file(file)) cases.push_back(std::move(c));
  }
  if (cases.empty())
    fail(Status::invalid_argument,
         "no case was given: write one (\"heads=64/8 batch=8 len=4096\") or use --cases FILE");
  return cases;
}

void require_workloads(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    if (!c.has_workload()) {
      fail(Status::invalid_argument,
           "'{}' has no workload to run: add batch= and len=", format_case(c));
    }
  }
}

}  // namespace qrow
