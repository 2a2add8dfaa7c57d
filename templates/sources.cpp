#include "templates/sources.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

constexpr SourceFile kSources[] = {
#include "embedded_sources.inc"
};
static_assert(std::ranges::is_sorted(kSources, {}, &SourceFile::path),
              "embed.cmake must keep the order of paths");

const SourceFile* find_source(std::string_view path) {
  const auto found = std::ranges::lower_bound(kSources, path, {}, &SourceFile::path);
  return found != std::end(kSources) && found->path == path ? found : nullptr;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : text.substr(first);
}

// The paths of the lines `#include "path"` of a text. A line that only looks like one (inside a
// comment or under a false #if) counts as well: that can make a digest change too often, never too
// seldom.
std::vector<std::string_view> included_paths(std::string_view text) {
  std::vector<std::string_view> paths;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = without_blanks(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (!line.starts_with('#')) continue;
    line = without_blanks(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = without_blanks(line.substr(7));
    if (!line.starts_with('"')) continue;
    line.remove_prefix(1);
    paths.push_back(line.substr(0, line.find('"')));
  }
  return paths;
}

// Adds `path` and all that is reached from it. `from` is the includer, for the message.
void collect(std::string_view path, std::string_view from,
             std::map<std::string_view, std::string_view>& reached) {
  if (reached.contains(path)) return;
  const SourceFile* file = find_source(path);
  if (file == nullptr) {
    fail(Status::internal,
         "{} includes \"{}\", which is not among the embedded templates: use the path below "
         "templates/",
         from, path);
  }
  reached.emplace(path, file->text);
  for (const std::string_view next : included_paths(file->text)) collect(next, path, reached);
}

Digest digest_reached_from(std::string_view path) {
  std::map<std::string_view, std::string_view>
      reached;  // sorted, so that the digest does not depend on include order
  collect(path, "the entry", reached);
  std::string text;
  for (const auto& [name, content] : reached) {
    // The length closes each text: moving a line from one file to the next must change the digest.
    fmt::format_to(std::back_inserter(text), "{} {}\n{}", name, content.size(), content);
  }
  return digest_of(text);
}

}  // namespace

std::span<const SourceFile> template_sources() { return kSources; }

Digest template_digest(std::string_view family) {
  // Every family at once, on the first call: afterwards the table is constant and needs no lock.
  static const std::map<std::string, Digest, std::less<>> digests = [] {
    std::map<std::string, Digest, std::less<>> table;
    for (const SourceFile& file : kSources) {
      constexpr std::string_view kFolder = "templates/", kKernel = "/kernel.cuh";
      if (!file.path.ends_with(kKernel)) continue;
      const std::size_t length = file.path.size() - kFolder.size() - kKernel.size();
      table.emplace(file.path.substr(kFolder.size(), length), digest_reached_from(file.path));
    }
    return table;
  }();
  const auto found = digests.find(family);
  if (found == digests.end()) {
    fail(Status::internal, "no template templates/{}/kernel.cuh is embedded in this build", family);
  }
  return found->second;
}

}  // namespace qrow
