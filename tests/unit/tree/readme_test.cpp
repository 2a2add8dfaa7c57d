// What the README repeats from elsewhere is the same there.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "tests/unit/tree/checkout.hpp"

namespace qrow::tree {
namespace {

const SourceFile& file_at(const std::string& path) {
  const auto found = std::find_if(source_files().begin(), source_files().end(),
                                  [&](const SourceFile& file) { return file.path == path; });
  REQUIRE_MESSAGE(found != source_files().end(), path << " is missing");
  return *found;
}

// The lines after the first that equals `begin`, up to the one that equals `end`.
std::vector<std::string> between(const SourceFile& file, const std::string& begin,
                                 const std::string& end) {
  const auto first = std::find(file.lines.begin(), file.lines.end(), begin);
  REQUIRE_MESSAGE(first != file.lines.end(), file.path << " has no line " << begin);
  return {first + 1, std::find(first, file.lines.end(), end)};
}

bool mentions(const SourceFile& file, const std::string& text) {
  return std::any_of(file.lines.begin(), file.lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("The README's C example is the program that the consumer test compiles") {
  const auto shown = between(file_at("README.md"), "```c", "```");
  const auto compiled = between(file_at("tests/consumer/project/decode_step.c"),
                                "/* README: begin */", "/* README: end */");
  CHECK(shown == compiled);
}

TEST_CASE("The README lists every environment variable") {
  const std::regex row("QROW_ENV\\((QROW_\\w+),");
  size_t rows = 0;
  for (const std::string& line : file_at("runtime/base/env.def").lines) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    ++rows;
    CHECK_MESSAGE(mentions(file_at("README.md"), "| `" + match[1].str() + "` |"), match[1].str());
  }
  CHECK(rows > 0);
}

TEST_CASE("The README lists every option of a context") {
  const std::regex field(R"re(^\s+(?:const )?[\w]+(?:\* const\*|\*)? (\w+);)re");
  const std::vector<std::string> lines =
      between(file_at("runtime/include/qrow/qrow.h"), "typedef struct qrow_context_options {",
              "} qrow_context_options;");
  CHECK(lines.size() > 10);
  for (const std::string& line : lines) {
    std::smatch match;
    REQUIRE_MESSAGE(std::regex_search(line, match, field), line);
    if (match[1] == "struct_size") continue;
    CHECK_MESSAGE(mentions(file_at("README.md"), "`" + match[1].str() + "`"), match[1].str());
  }
}

TEST_CASE("The README names every arch that kernels are built for") {
  const std::regex row("^QROW_ARCH\\((sm_\\w+),");
  size_t rows = 0;
  for (const std::string& line : file_at("jit/arch.def").lines) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    ++rows;
    CHECK_MESSAGE(mentions(file_at("README.md"), match[1].str()), match[1].str());
  }
  CHECK(rows > 0);
}

}  // namespace qrow::tree
