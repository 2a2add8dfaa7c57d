#include "templates/sources.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/base/file.hpp"
#include "templates/families.hpp"

namespace qrow {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> device_files() {
  std::vector<std::string> paths;
  const fs::path root = QROW_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root / "templates")) {
    if (entry.path().extension() == ".cuh")
      paths.push_back(fs::relative(entry.path(), root).string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("Every device file is embedded byte for byte, sorted by path") {
  std::vector<std::string> embedded;
  for (const SourceFile& file : template_sources()) {
    embedded.emplace_back(file.path);
    CHECK_MESSAGE(file.text == read_file(std::string(QROW_SOURCE_DIR) + "/" + embedded.back()),
                  embedded.back());
  }
  CHECK(embedded == device_files());
}

TEST_CASE("Embedded texts include nothing but embedded texts") {
  std::set<std::string_view> paths;
  for (const SourceFile& file : template_sources()) paths.insert(file.path);
  int includes = 0;
  for (const SourceFile& file : template_sources()) {
    for (std::size_t at = file.text.find("#include"); at != std::string_view::npos;
         at = file.text.find("#include", at + 1)) {
      const std::string_view rest = file.text.substr(at);
      const std::string_view line = rest.substr(0, rest.find('\n'));
      const std::size_t open = line.find('"');
      REQUIRE_MESSAGE(open != std::string_view::npos, file.path << ": " << line);
      const std::string_view path = line.substr(open + 1, line.rfind('"') - open - 1);
      CHECK_MESSAGE(paths.contains(path), file.path << ": " << line);
      ++includes;
    }
  }
  CHECK(includes > 0);
}

TEST_CASE("Every family has a kernel and a digest of its own") {
  std::set<Digest> digests;
  for (const Family* family : families()) {
    CHECK_NOTHROW(digests.insert(template_digest(family->name())));
    CHECK(template_digest(family->name()) == template_digest(family->name()));
  }
  CHECK(digests.size() == families().size());
}

TEST_CASE("A family without a template is named") {
  try {
    template_digest("no_such_family");
    FAIL("a digest of nothing");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("templates/no_such_family/kernel.cuh") !=
          std::string::npos);
  }
}

}  // namespace qrow
