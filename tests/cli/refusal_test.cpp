// What a command must not pass over: wrong values in the environment, files without an end, an
// output that cannot be written, files that are not ours.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache/kernel_store.hpp"
#include "jit/nvrtc.hpp"
#include "tests/cli/process.hpp"
#include "tests/skip.hpp"

namespace qrow {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("export and merge refuse a file that is not qrow's and leave it as it is") {
  TemporaryFolder folder;
  const std::string cache = folder.file("c.sqlite"), seed = folder.file("seed"),
                    text = folder.file("text");
  {
    StoreOptions options;
    options.path = cache;
    KernelStore::open(options, true);
  }
  std::ofstream(text) << "notes";
  REQUIRE(run_qrow({"export", seed, "--cache", cache}).code == 0);
  for (std::vector<std::string> words : {std::vector<std::string>{"export", text, "--cache", cache},
                                         {"merge", text, seed},
                                         {"merge", text, seed, "--arch", "sm_90a"},
                                         {"merge", "/dev/null", seed, "--arch", "sm_90a"}}) {
    const Ran ran = run_qrow(words);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(contains(ran.err, "cannot write '" + words[1] + "'"), ran.err);
    CHECK(content_of(text) == "notes");
  }
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(run_qrow({"merge", seed, seed}).code == 0);
}

TEST_CASE("files without an end and folders are refused, naming the limit") {
  for (const char* option : {"--cases", "--model"}) {
    const Ran endless = run_qrow({"prewarm", option, "/dev/zero", "--arch", "sm_90a"});
    CHECK(endless.code == 2);
    CHECK_MESSAGE(contains(endless.err, "'/dev/zero': it is larger than 16777216 bytes"),
                  endless.err);
    const Ran folder = run_qrow({"prewarm", option, "/", "--arch", "sm_90a"});
    CHECK(folder.code == 2);
    CHECK_MESSAGE(contains(folder.err, "cannot read '/': Is a directory"), folder.err);
  }
  const Ran peers = run_qrow({"bench", "heads=8/1 batch=1 len=64", "--against", "/dev/zero"});
  CHECK(peers.code == 2);
  CHECK(contains(peers.err, "16777216"));
  for (const char* path : {"/dev/zero", "/dev/null"}) {
    const Ran cache = run_qrow({"list", "--cache", path});
    CHECK(cache.code == 1);
    CHECK_MESSAGE(contains(cache.err, "is not a regular file"), cache.err);
  }
}

TEST_CASE("a wrong value in the environment is refused by every command, and shown by env") {
  TemporaryFolder folder;
  const std::string plain = folder.file("plain");
  std::ofstream(plain) << "a file, no folder";
  const std::pair<const char*, std::string> wrong[] = {{"QROW_JIT", "bogus"},
                                                       {"QROW_LOG", "loud"},
                                                       {"QROW_DUMP", plain},
                                                       {"QROW_DUMP", plain + "/below"}};
  for (const auto& [name, value] : wrong) {
    const std::string said = std::string(name) + " is '" + value + "'";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"prewarm", "heads=8/1", "--arch", "sm_90a", "--dry-run"},
          {"explain", "heads=8/1", "--arch", "sm_90a"},
          {"cache", "path"},
          {"run", "heads=8/1 batch=1 len=64"}}) {
      const Ran ran = run_qrow(words, {{name, value}, {"QROW_CACHE", folder.file("c.sqlite")}});
      CHECK(ran.code == 2);
      CHECK_MESSAGE(contains(ran.err, said), ran.err);
      CHECK(ran.out.empty());
    }
    const Ran env = run_qrow({"env"}, {{name, value}});
    CHECK(env.code == 0);
    CHECK(contains(env.out, "wrong: " + said));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("c.sqlite")));
}

TEST_CASE("QROW_JIT=cache_only binds prewarm, and explain says what it means") {
  TemporaryFolder folder;
  const std::vector<std::string> common = {"--arch", "sm_90a", "--cache", folder.file("c.sqlite")};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), common.begin(), common.end());
    return run_qrow(words, {{"QROW_JIT", "cache_only"}});
  };
  const Ran dry = run({"prewarm", "heads=8/1", "--dry-run"});
  CHECK(dry.code == 1);
  CHECK(contains(dry.err, "QROW_JIT=cache_only forbids"));
  const Ran explain = run({"explain", "heads=8/1"});
  CHECK(explain.code == 0);
  CHECK(contains(explain.out, "QROW_JIT=cache_only forbids compiling"));
  const Ran made = run({"prewarm", "heads=8/1", "--json"});
  CHECK(made.code == 1);
  const std::vector<JsonReader> records = records_of(made);
  CHECK(total_of(records, "failed") == total_of(records, "items"));
  for (const JsonReader* item : items_of(records)) {
    CHECK(item->text("$.status") == "NOT_CACHED");
    CHECK(contains(item->text("$.error").value_or(""), "QROW_JIT=cache_only forbids"));
  }
}

TEST_CASE("an output that cannot be written is an error, whatever was asked") {
  TemporaryFolder folder;
  for (const char* words : {"--help", "--version", "prewarm --help", "help export", "env",
                            "explain heads=8/1 --arch sm_90a", "cache path --json"}) {
    for (const char* to : {">/dev/full", ">&-"}) {
      CAPTURE(words);
      const Ran ran = run_in_shell(std::string("QROW ") + words + " " + to);
      CHECK(ran.code == 1);
      CHECK(contains(ran.err, "standard output could not be written"));
    }
  }
  // With the stream closed, what is printed must not land in the next file that is opened.
  const std::string cache = folder.file("c.sqlite");
  run_in_shell("QROW prewarm heads=8/1 --arch sm_90a --cache " + cache + " >&- 2>&- <&-");
  CHECK(run_qrow({"cache", "verify", "--cache", cache}).code == 0);
}

TEST_CASE("explain refuses what the call refuses, in the call's words") {
  const std::pair<const char*, const char*> cases[] = {
      {"heads=8/1 batch=1 len=64 table=csr", "table=csr: CSR page tables are not built yet"},
      {"heads=8/1 rows=2 batch=2 len=64 ragged=1,2", "ragged=: ragged query rows are not built"},
      {"heads=8/1 kv=e4m3 scale_at=inline", "scale_at=inline: scales per token are not built yet"}};
  for (const auto& [line, said] : cases) {
    const Ran text = run_qrow({"explain", line, "--arch", "sm_90a"});
    CHECK(text.code == 1);
    CHECK_MESSAGE(contains(text.out, said), text.out);
    const Ran json = run_qrow({"explain", line, "--arch", "sm_90a", "--json"});
    CHECK(records_of(json).at(0).boolean("$.able") == false);
    CHECK(contains(records_of(json).at(0).text("$.refused").value_or(""), said));
  }
}

TEST_CASE("explain and prewarm say nothing on standard output before a mistake of a line") {
  for (const char* command : {"explain", "prewarm"}) {
    TemporaryFolder folder;
    const Ran ran =
        run_qrow({command, "heads=8/1", "heads=8/1 window=5", "heads=8/1 tuning=nonsense:3",
                  "--arch", "sm_90a", "--json", "--cache", folder.file("c.sqlite")});
    CHECK(ran.code == 2);
    CHECK(contains(ran.err, "nonsense"));
    CHECK(ran.out.empty());
  }
}

TEST_CASE("the demo leaves the cache and nothing else") {
  std::string why;
  if (Nvrtc::try_get(&why) == nullptr) {
    skip_case("no NVRTC");
    return;
  }
  TemporaryFolder folder;
  const Ran ran = run_qrow({"demo", "--arch", "sm_90a", "--cache", folder.file("c.sqlite")});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(contains(ran.out, "qrow export"));
  CHECK_FALSE(std::filesystem::exists(folder.file("c.sqlite.demo-export")));
}

}  // namespace
}  // namespace qrow
