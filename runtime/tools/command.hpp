// The frame of the `qrow` command: one file per sub-command, each defining one Command constant;
// the list is commands.def. main.cpp finds the command, prints its help, catches what it throws and
// turns that into an exit code.
#pragma once

#include <span>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/tools/arguments.hpp"
#include "runtime/tools/output.hpp"

namespace qrow {

struct Command {
  const char* name;
  const char* summary;  // one line, in `qrow --help`
  const char* usage;    // all of `qrow NAME --help`: forms, options, an example
  // Returns an exit code; may throw Error, which the frame prints and maps by exit_code().
  int (*run)(Arguments& arguments, Output& output);
};

std::span<const Command* const> commands();  // in the order of commands.def

// Exit codes, persisted: scripts test them.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,  // the work failed: the text says what and how many
  kExitUsage = 2,   // the command line is wrong
  kExitLacks = 3,   // needs something that this machine lacks: the text says which
};

// The one place where a status becomes an exit code.
int exit_code(Status status);

// Runs `qrow` with these words (the program's name left out) and returns the exit code; never
// throws.
int run_command_line(std::span<const char* const> words, std::FILE* out, std::FILE* err);

}  // namespace qrow
