// What every command line gets: help, exit codes, one clear sentence for a mistake. No compiler, no
// GPU.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/cli/process.hpp"

namespace qrow {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("help, version and unknown commands have the documented exit codes") {
  Ran help = run_qrow({"--help"});
  CHECK(help.code == 0);
  CHECK(contains(help.out, "prewarm"));
  CHECK(run_qrow({"--version"}).code == 0);
  CHECK(run_qrow({}).code == 2);
  CHECK(run_qrow({"no_such_command"}).code == 2);
}

TEST_CASE("a mistake in a word is one sentence on standard error and exit code 2") {
  Ran ran = run_qrow({"prewarm", "heads=64/8 rows=many", "--arch", "sm_90a"});
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, "qrow: prewarm: rows=many: legal is an integer from 1 to 1024"));
}

TEST_CASE("a command that needs a GPU says so with exit code 3 where there is no driver") {
  Environment no_driver = {{"QROW_LIBCUDA", "/nonexistent/libcuda.so.1"}};
  Ran ran = run_qrow({"run", "heads=8/1 batch=1 len=64"}, no_driver);
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "/nonexistent/libcuda.so.1"));
  Ran arch = run_qrow({"explain", "heads=8/1"}, no_driver);
  CHECK(arch.code == 2);
  CHECK(contains(arch.err, "--arch is needed"));
}

TEST_CASE("a missing compiler is exit code 3 and names where it was looked for") {
  TemporaryFolder folder;
  Ran ran = run_qrow(
      {"prewarm", "heads=8/1", "--arch", "sm_90a", "--cache", folder.file("c.sqlite"), "--json"},
      {{"QROW_NVRTC", "/nonexistent/libnvrtc.so"}});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "/nonexistent/libnvrtc.so"));
  std::vector<JsonReader> records = records_of(ran);
  CHECK(total_of(records, "failed") == total_of(records, "items"));
  CHECK(items_of(records).at(0)->text("$.status") == "NO_COMPILER");
}

TEST_CASE("a prewarm into a cache that cannot be written stops before it compiles") {
  TemporaryFolder folder;
  std::ofstream(folder.file("plain")) << "a file, no folder";
  std::string cache = folder.file("plain") + "/c.sqlite";
  Ran ran = run_qrow({"prewarm", "heads=8/1", "--arch", "sm_90a", "--cache", cache, "--json"});
  CHECK(ran.code == 1);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, cache));
}

TEST_CASE("a file that is no export is refused by name and the cache stays usable") {
  TemporaryFolder folder;
  std::string cache = folder.file("c.sqlite"), junk = folder.file("junk");
  std::ofstream(junk) << std::string(20000, 'x');
  Ran ran = run_qrow({"import", junk, "--cache", cache});
  CHECK(ran.code == 1);
  CHECK(contains(ran.err, junk));
  CHECK(run_qrow({"cache", "stats", "--cache", cache}).code == 0);
  CHECK(run_qrow({"cache", "verify", "--cache", cache}).code == 0);
}

TEST_CASE("a mistyped cache file is an error and does not become an empty cache") {
  TemporaryFolder folder;
  std::string path = folder.file("typo.sqlite");
  for (const char* command : {"list", "export"}) {
    Ran ran = command == std::string("list")
                  ? run_qrow({"list", "--cache", path})
                  : run_qrow({"export", folder.file("out"), "--cache", path});
    CHECK(ran.code == 2);
    CHECK(contains(ran.err, path));
  }
  CHECK_FALSE(std::ifstream(path).good());
}

}  // namespace
}  // namespace qrow
