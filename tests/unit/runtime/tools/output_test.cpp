#include "runtime/tools/output.hpp"

#include <doctest/doctest.h>

#include <string>

namespace qrow {
namespace {

class Streams {
 public:
  explicit Streams(Output::Options options) : output(out_, err_, options) {}
  ~Streams() {
    std::fclose(out_);
    std::fclose(err_);
  }
  std::string out() { return text(out_); }
  std::string err() { return text(err_); }

 private:
  static std::string text(std::FILE* file) {
    std::string text;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    return text;
  }
  std::FILE* out_ = std::tmpfile();
  std::FILE* err_ = std::tmpfile();

 public:
  Output output;
};

void say_everything(Output& output) {
  output.progress(0, 2, "item");
  output.line("result {}", 1);
  output.detail("detail");
  output.record(JsonObject().add("n", 1));
  output.note("note");
  output.error("error");
}

TEST_CASE("results go to standard output, notes and errors to standard error") {
  Streams streams({});
  say_everything(streams.output);
  CHECK(streams.out() == "result 1\ndetail\n");
  CHECK(streams.err() == "qrow: note\nqrow: error\n");
}

TEST_CASE("with --json standard output holds records alone") {
  Streams streams({.json = true});
  say_everything(streams.output);
  CHECK(streams.out() == "{\"n\":1}\n");
}

TEST_CASE("with --quiet results and errors remain") {
  Streams streams({.json = false, .quiet = true});
  say_everything(streams.output);
  CHECK(streams.out() == "result 1\n");
  CHECK(streams.err() == "qrow: error\n");
}

TEST_CASE("durations and sizes are written for people") {
  CHECK(format_duration(0.25) == "0.2 s");
  CHECK(format_duration(12.4) == "12 s");
  CHECK(format_duration(200) == "3 min 20 s");
  CHECK(format_duration(7500) == "2 h 5 min");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(48'200) == "48.2 KB");
  CHECK(format_bytes(2'000'000'000) == "2.0 GB");
}

}  // namespace
}  // namespace qrow
