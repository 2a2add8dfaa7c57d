#include "tests/unit/tree/checkout.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>

namespace qrow::tree {
namespace {

namespace fs = std::filesystem;

const char* const kNotOurs[] = {".git", ".deps", ".venv", ".cache", "build"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

// What git lists; empty where there is no git or no repository (an unpacked archive).
std::vector<std::string> paths_from_git() {
  const std::string command = std::string("git -C '") + QROW_SOURCE_DIR +
                              "' ls-files -z --cached --others --exclude-standard 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return {};
  std::string output;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) output.append(buffer, n);
  return split(output, '\0');
}

std::vector<std::string> paths_from_folders() {
  std::vector<std::string> paths;
  const fs::path root = QROW_SOURCE_DIR;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    const std::string path = it->path().lexically_relative(root).string();
    if (std::find(std::begin(kNotOurs), std::end(kNotOurs), path) != std::end(kNotOurs)) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      paths.push_back(path);
    }
  }
  return paths;
}

std::vector<SourceFile> read_files() {
  std::vector<std::string> paths = paths_from_git();
  if (paths.empty()) paths = paths_from_folders();
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  for (const std::string& path : paths) {
    std::ifstream stream(fs::path(QROW_SOURCE_DIR) / path, std::ios::binary);
    if (!stream) continue;  // deleted, and not yet so in the index
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    if (text.find('\0') == std::string::npos) files.push_back({path, split(text, '\n')});
  }
  return files;
}

}  // namespace

const std::vector<SourceFile>& source_files() {
  static const std::vector<SourceFile> files = read_files();
  return files;
}

std::vector<Include> includes(const SourceFile& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Include> found;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (file.lines[i].find("include") == std::string::npos) continue;
    if (!std::regex_search(file.lines[i], match, pattern)) continue;
    found.push_back({match[2], match[1] == "<", i + 1});
  }
  return found;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string at(const SourceFile& file, size_t line, const std::string& text) {
  return file.path + ":" + std::to_string(line) + ": " + text;
}

}  // namespace qrow::tree
