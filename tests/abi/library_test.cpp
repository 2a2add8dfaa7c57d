// libqrow.so itself: what it exports and what it needs.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  REQUIRE(pclose(pipe) == 0);
  return output;
}

std::set<std::string> exported() {
  std::set<std::string> names;
  std::istringstream lines(output_of("nm -D --defined-only " QROW_LIBRARY));
  for (std::string line; std::getline(lines, line);) names.insert(line.substr(line.rfind(' ') + 1));
  return names;
}

}  // namespace

TEST_CASE("the library exports the functions of the header and nothing else") {
  std::ifstream file(QROW_SOURCE_DIR "/runtime/include/qrow/qrow.h");
  std::stringstream header;
  header << file.rdbuf();
  const std::string text = header.str();
  std::set<std::string> declared;
  const std::regex function(R"(QROW_API [^;(]*?(qrow_[a-z_]+)\()");
  for (std::sregex_iterator i(text.begin(), text.end(), function), end; i != end; ++i)
    declared.insert((*i)[1]);
  CHECK(declared.size() > 25);
  const std::set<std::string> names = exported();
  for (const std::string& name : declared) {
    INFO(name);
    CHECK(names.contains(name));
  }
  for (const std::string& name : names) {
    INFO(name);
    CHECK(declared.contains(name));
  }
}

TEST_CASE("the library needs neither the CUDA driver nor NVRTC nor the CUDA runtime") {
  const std::string needed = output_of("readelf -d " QROW_LIBRARY " | grep NEEDED");
  CHECK(needed.find("libc.so") != std::string::npos);
  for (const char* library : {"libcuda", "libnvrtc", "libcudart", "libfmt", "libxxhash"}) {
    INFO(library);
    CHECK(needed.find(library) == std::string::npos);
  }
}
