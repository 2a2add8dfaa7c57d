// Where files lie, how long they are and what no text of ours may hold.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "tests/unit/tree/checkout.hpp"

namespace qrow::tree {
namespace {

const char* const kTopLevel[] = {".ci",
                                 ".clang-format",
                                 ".clang-tidy",
                                 ".editorconfig",
                                 ".gitignore",
                                 "CHANGELOG.md",
                                 "CMakeLists.txt",
                                 "CONTRIBUTING.md",
                                 "CMakePresets.json",
                                 "LICENSE",
                                 "README.md",
                                 "cache",
                                 "jit",
                                 "runtime",
                                 "scripts",
                                 "templates",
                                 "tests"};

std::string top_of(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_code(const SourceFile& file) {
  for (const char* suffix : {".cpp", ".hpp", ".cuh", ".h", ".c", ".def", ".sql", ".cmake", ".py"}) {
    if (ends_with(file.path, suffix)) return true;
  }
  return starts_with(file.path, "scripts/") && !ends_with(file.path, ".md");
}

// Folders of one and two levels, without those that only mirror or hold data.
std::set<std::string> folders_with_readme() {
  std::set<std::string> folders;
  for (const SourceFile& file : source_files()) {
    const size_t first = file.path.find('/');
    if (first == std::string::npos || file.path[0] == '.') continue;
    folders.insert(file.path.substr(0, first));
    const size_t second = file.path.find('/', first + 1);
    if (second != std::string::npos) folders.insert(file.path.substr(0, second));
  }
  folders.erase("runtime/include");
  return folders;
}

}  // namespace

TEST_CASE("The top level holds what it always holds") {
  for (const SourceFile& file : source_files()) {
    const std::string top = top_of(file.path);
    const bool known =
        std::find(std::begin(kTopLevel), std::end(kTopLevel), top) != std::end(kTopLevel);
    CHECK_MESSAGE(known, file.path << ": '" << top << "' is not part of the fixed top level");
  }
  for (const char* name : kTopLevel) {
    const bool there = std::any_of(source_files().begin(), source_files().end(),
                                   [&](const SourceFile& f) { return top_of(f.path) == name; });
    CHECK_MESSAGE(there, std::string(name) << " is missing from the top level");
  }
}

TEST_CASE("Every folder explains itself in a README") {
  for (const std::string& folder : folders_with_readme()) {
    const std::string readme = folder + "/README.md";
    const bool there = std::any_of(source_files().begin(), source_files().end(),
                                   [&](const SourceFile& f) { return f.path == readme; });
    CHECK_MESSAGE(there, readme << " is missing");
  }
}

TEST_CASE("No source file is longer than 500 lines") {
  constexpr size_t kMostLines = 500;
  for (const SourceFile& file : source_files()) {
    if (!is_code(file)) continue;
    CHECK_MESSAGE(file.lines.size() <= kMostLines,
                  file.path << " has " << file.lines.size() << " lines: split it");
  }
}

TEST_CASE("No file has a name that says nothing") {
  for (const SourceFile& file : source_files()) {
    for (const char* name : {"util", "helper", "misc"}) {
      CHECK_MESSAGE(file.path.find(name) == std::string::npos, file.path);
    }
  }
}

TEST_CASE("No text of ours names a folder of the machine that it was written on") {
  // Spelt in parts, so that this file passes its own test. "someone" is a home that tests make up.
  const std::regex pattern(std::string("(^|[^A-Za-z0-9_.$}~*-])/(home|root|work") +
                           "|Users|mnt|data)/(?!someone)[a-zA-Z0-9]");
  for (const SourceFile& file : source_files()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const bool found = std::regex_search(file.lines[i], pattern);
      CHECK_MESSAGE(!found, at(file, i + 1, file.lines[i]));
    }
  }
}

TEST_CASE("An address in our text leads to a public place that we chose") {
  const std::set<std::string> hosts = {"www.apache.org",  "keepachangelog.com", "semver.org",
                                       "docs.nvidia.com", "huggingface.co",     "github.com"};
  const std::regex pattern("https?://([A-Za-z0-9.-]+)");
  for (const SourceFile& file : source_files()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (file.lines[i].find("://") == std::string::npos) continue;
      if (!std::regex_search(file.lines[i], match, pattern)) continue;
      CHECK_MESSAGE(hosts.count(match[1]) == 1, at(file, i + 1, file.lines[i]));
    }
  }
}

TEST_CASE("No mark of unfinished work is left") {
  const std::regex pattern(std::string("\\b(TO") + "DO|FIX" + "ME|X" + "XX)\\b");
  for (const SourceFile& file : source_files()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const bool found = std::regex_search(file.lines[i], pattern);
      CHECK_MESSAGE(!found, at(file, i + 1, file.lines[i]));
    }
  }
}

TEST_CASE("Text has no carriage returns") {
  for (const SourceFile& file : source_files()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const bool found = file.lines[i].find('\r') != std::string::npos;
      CHECK_MESSAGE(!found, at(file, i + 1, "carriage return"));
    }
  }
}

}  // namespace qrow::tree
