#include "tests/cli/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace qrow {
namespace {

struct Child {
  pid_t pid = -1;
  int out = -1, err = -1;
};

Child start(const char* program, const std::vector<std::string>& words,
            const Environment& environment) {
  std::array<int, 2> out{}, err{};
  REQUIRE(pipe2(out.data(), O_CLOEXEC) == 0);
  REQUIRE(pipe2(err.data(), O_CLOEXEC) == 0);
  std::vector<char*> pointers{const_cast<char*>(program)};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(out[1], 1);
    dup2(err[1], 2);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execv(program, pointers.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  return {pid, out[0], err[0]};
}

// Appends what is there; false at the end of the stream.
bool read_some(int fd, std::string* text) {
  std::array<char, 4096> buffer;
  ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) text->append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Reads both streams to their ends; sends SIGINT once, when `out` holds `interrupt_at` lines (0:
// never).
Ran finish(Child child, int interrupt_at) {
  Ran ran;
  std::array<pollfd, 2> streams{pollfd{child.out, POLLIN, 0}, pollfd{child.err, POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    poll(streams.data(), streams.size(), -1);
    for (std::size_t i = 0; i < 2; ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      if (read_some(streams[i].fd, i == 0 ? &ran.out : &ran.err)) continue;
      close(streams[i].fd);
      streams[i].fd = -1;
    }
    if (interrupt_at > 0 && std::count(ran.out.begin(), ran.out.end(), '\n') >= interrupt_at) {
      kill(child.pid, SIGINT);
      interrupt_at = 0;
    }
  }
  int status = 0;
  waitpid(child.pid, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

}  // namespace

std::vector<std::string> Ran::lines() const {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < out.size();) {
    std::size_t end = std::min(out.find('\n', at), out.size());
    all.push_back(out.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

Ran run_qrow(const std::vector<std::string>& words, const Environment& environment) {
  return finish(start(QROW_COMMAND_PATH, words, environment), 0);
}

Ran run_in_shell(std::string line) {
  const std::string word = "QROW";
  line.replace(line.find(word), word.size(), QROW_COMMAND_PATH);
  return finish(start("/bin/sh", {"-c", line}, {}), 0);
}

Ran run_qrow_and_interrupt(const std::vector<std::string>& words, int lines) {
  return finish(start(QROW_COMMAND_PATH, words, {}), lines);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "qrow_cli_XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<JsonReader> records_of(const Ran& ran) {
  std::vector<JsonReader> records;
  for (const std::string& line : ran.lines()) {
    CAPTURE(line);
    REQUIRE(is_json(line));
    records.emplace_back("output", line);
    REQUIRE(records.back().type("$") == "object");
  }
  return records;
}

std::vector<const JsonReader*> items_of(const std::vector<JsonReader>& records) {
  std::vector<const JsonReader*> items;
  for (const JsonReader& record : records)
    if (record.has("$.key")) items.push_back(&record);
  return items;
}

long long total_of(const std::vector<JsonReader>& records, const std::string& name) {
  REQUIRE_FALSE(records.empty());
  std::optional<long long> number = records.back().integer("$.totals." + name);
  REQUIRE(number.has_value());
  return *number;
}

}  // namespace qrow
