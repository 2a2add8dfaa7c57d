#include "runtime/tools/workbench_peers.hpp"

#include "runtime/base/file.hpp"
#include "runtime/tools/json_reader.hpp"

namespace qrow {

std::vector<PeerTiming> read_peers(const std::string& path) {
  const JsonReader json(path, read_file(path));
  if (json.type("$") != "array") {
    fail(Status::invalid_argument, "{}: a list of rows was expected, the file holds '{}'", path,
         json.type("$"));
  }
  const int count = json.array_size("$").value_or(0);
  std::vector<PeerTiming> peers;
  for (int i = 0; i < count; ++i) {
    const std::string row = fmt::format("$[{}]", i);
    const std::optional<std::string> line = json.text(row + ".case");
    const std::optional<std::string> method = json.text(row + ".method");
    const std::optional<double> us = json.number(row + ".us");
    if (!line || !method || !us)
      fail(Status::invalid_argument, "{}: row {} lacks case, method or us", path, i);
    try {
      peers.push_back({format_case(parse_case(*line)), *method, *us});
    } catch (const Error&) {
      continue;
    }
  }
  return peers;
}

}  // namespace qrow
