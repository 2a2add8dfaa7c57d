// The files of this checkout as the tree tests see them: tracked, or new and not ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qrow::tree {

struct SourceFile {
  std::string path;  // from the root: "jit/key.cpp"
  std::vector<std::string> lines;
};

struct Include {
  std::string name;
  bool angled;  // <name>, not "name"
  size_t line;  // from 1
};

// Read once. Files that are not text are left out.
const std::vector<SourceFile>& source_files();

std::vector<Include> includes(const SourceFile& file);

bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
// "path:line: text", for messages.
std::string at(const SourceFile& file, size_t line, const std::string& text);

}  // namespace qrow::tree
