#include "runtime/tools/command.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "runtime/tools/json_reader.hpp"

namespace qrow {
namespace {

struct Ran {
  int code = 0;
  std::string out, err;
};

std::string text_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

Ran run(std::vector<const char*> words) {
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  REQUIRE(out != nullptr);
  REQUIRE(err != nullptr);
  Ran ran;
  ran.code = run_command_line(words, out, err);
  ran.out = text_of(out);
  ran.err = text_of(err);
  return ran;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("every command has a name of its own, a summary, and help that ends with an example") {
  std::set<std::string> names;
  for (const Command* command : commands()) {
    CAPTURE(command->name);
    CHECK(names.insert(command->name).second);
    Ran ran = run({command->name, "--help"});
    CHECK(ran.code == kExitDone);
    CHECK(ran.err.empty());
    CHECK(contains(ran.out, std::string("usage: qrow ") + command->name));
    CHECK(contains(ran.out, "--cache FILE"));
    bool example = contains(ran.out, "example:") || contains(ran.out, "  qrow ");
    CHECK(example);
    CHECK(contains(run({"--help"}).out, command->summary));
  }
}

TEST_CASE("a command line without a known command is wrong usage and says what there is") {
  CHECK(run({}).code == kExitUsage);
  Ran ran = run({"prewarn"});
  CHECK(ran.code == kExitUsage);
  CHECK(contains(ran.err, "command 'prewarn' is unknown: legal are"));
  CHECK(contains(ran.err, "prewarm"));
  CHECK(ran.out.empty());
}

TEST_CASE("each status has one exit code") {
  CHECK(exit_code(Status::ok) == kExitDone);
  CHECK(exit_code(Status::invalid_argument) == kExitUsage);
  CHECK(exit_code(Status::no_compiler) == kExitLacks);
  CHECK(exit_code(Status::no_device) == kExitLacks);
  for (Status status : {Status::unsupported, Status::not_cached, Status::compile_failed,
                        Status::driver, Status::deadline, Status::cancelled, Status::cache,
                        Status::out_of_memory, Status::internal})
    CHECK(exit_code(status) == kExitFailed);
}

TEST_CASE("mistakes on the command line each give one sentence and exit code 2") {
  struct Mistake {
    std::vector<const char*> words;
    const char* said;
  };
  const Mistake mistakes[] = {
      {{"prewarm"}, "nothing to compile"},
      {{"prewarm", "--arch", "sm_90a"}, "nothing to compile"},
      {{"prewarm", "heads=64/8", "--arch", "sm_77"}, "sm_77"},
      {{"prewarm", "heads=63/8", "--arch", "sm_90a"}, "heads=63/8"},
      {{"prewarm", "heads=64/8 colour=red", "--arch", "sm_90a"}, "'colour' is unknown"},
      {{"prewarm", "heads=64/8", "--arch", "sm_90a", "--shard", "0/2"}, "--shard 0/2"},
      {{"prewarm", "heads=64/8", "--arch", "sm_90a", "--shard", "3/2"}, "--shard 3/2"},
      {{"prewarm", "heads=64/8", "--arch", "sm_90a", "--jobs", "0"}, "--jobs 0"},
      {{"prewarm", "heads=64/8", "--arch", "sm_90a", "--tp", "2"}, "--tp goes with --model"},
      {{"prewarm", "--cases", "/nonexistent.case", "--arch", "sm_90a"}, "/nonexistent.case"},
      {{"prewarm", "--model", "/nonexistent.json", "--arch", "sm_90a"}, "/nonexistent.json"},
      {{"prewarm", "heads=64/8", "--arch", "sm_90a", "--job", "2"}, "option --job is unknown"},
      {{"prewarm", "heads=64/8 maths=fp4", "--arch", "sm_90a"}, "maths=fp4"},
      {{"explain", "heads=64/8", "--arch", "gtx"}, "gtx"},
      {{"list", "--family", "none_such"}, "--family none_such"},
      {{"export", "f", "--only", "cubins"}, "--only cubins"},
      {{"cache", "stats", "--repair"}, "--repair goes with"},
      {{"tune", "heads=64/8"}, "no tuner"},
      {{"export"}, "qrow export FILE"},
      {{"list", "--cache", "/nonexistent/x.sqlite"}, "/nonexistent/x.sqlite"},
      {{"show", "zz", "--cache", "/nonexistent/x.sqlite"}, "/nonexistent/x.sqlite"},
      {{"import", "/nonexistent.sqlite"}, "/nonexistent.sqlite"},
      {{"merge", "/tmp/out.sqlite"}, "qrow merge OUT IN"},
      {{"cache", "fly"}, "legal are stats, verify, clear, path"},
      {{"cache"}, "qrow cache"},
      {{"explain"}, "no case"},
      {{"env", "extra"}, "'extra' is one word too many"},
  };
  for (const Mistake& mistake : mistakes) {
    Ran ran = run(mistake.words);
    CAPTURE(mistake.said);
    CAPTURE(ran.err);
    CHECK(ran.code == kExitUsage);
    CHECK(contains(ran.err, mistake.said));
    CHECK(ran.out.empty());
  }
}

TEST_CASE("env lists every variable and says what is missing, as text and as JSON") {
  Ran text = run({"env"});
  CHECK(text.code == kExitDone);
  for (const char* part :
       {"QROW_CACHE", "QROW_NVRTC", "QROW_LIBCUDA", "compiler (NVRTC)", "driver", "looked for"})
    CHECK(contains(text.out, part));
  Ran json = run({"env", "--json"});
  CHECK(json.code == kExitDone);
  int lines = 0;
  for (std::size_t at = 0; at < json.out.size(); ++lines) {
    std::size_t end = json.out.find('\n', at);
    REQUIRE(end != std::string::npos);
    CHECK(is_json(json.out.substr(at, end - at)));
    at = end + 1;
  }
  CHECK(lines >= 10);
}

}  // namespace
}  // namespace qrow
