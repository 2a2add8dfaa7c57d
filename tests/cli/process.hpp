// Runs the `qrow` executable under test in a process of its own, with a chosen environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/tools/json_reader.hpp"

namespace qrow {

struct Ran {
  int code = -1;  // exit code, or -signal
  std::string out, err;

  std::vector<std::string> lines() const;  // of standard output
};

using Environment =
    std::vector<std::pair<std::string, std::string>>;  // set on top of the test's own

Ran run_qrow(const std::vector<std::string>& words, const Environment& environment = {});

// The same through a shell, for redirections: the word QROW stands for the executable.
Ran run_in_shell(std::string line);

// The same, interrupted (SIGINT) once standard output holds `lines` lines.
Ran run_qrow_and_interrupt(const std::vector<std::string>& words, int lines);

// A folder that is empty at first and gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

// Each line of JSON output as a document; checks that every line is one.
std::vector<JsonReader> records_of(const Ran& ran);

// The records with a "key" field: kernels. Points into `records`.
std::vector<const JsonReader*> items_of(const std::vector<JsonReader>& records);
std::vector<const JsonReader*> items_of(std::vector<JsonReader>&&) = delete;

// A number in the last record, {"totals":{...}}.
long long total_of(const std::vector<JsonReader>& records, const std::string& name);

}  // namespace qrow
