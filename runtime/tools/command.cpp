#include "runtime/tools/command.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "qrow/qrow.h"
#include "runtime/base/env.hpp"

namespace qrow {

#define QROW_COMMAND(constant) extern const Command constant;
#include "runtime/tools/commands.def"
#undef QROW_COMMAND

namespace {

constexpr const Command* kCommands[] = {
#define QROW_COMMAND(constant) &constant,
#include "runtime/tools/commands.def"
#undef QROW_COMMAND
};

constexpr const char* kCommonUsage = R"(
Every command takes
  --cache FILE   the cache: a file, or a directory in which the file name is qrow's; without it QROW_CACHE, else the
                 user's cache folder
  --json         one JSON object per line on standard output and nothing else there
  --quiet        results and errors only
  --help         this text
Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 needs something that this machine lacks.
)";

std::string version_text() {
  return fmt::format("qrow {}.{}.{}", QROW_VERSION_MAJOR, QROW_VERSION_MINOR, QROW_VERSION_PATCH);
}

std::string overview() {
  std::string text =
      version_text() +
      ": paged decode attention for few query rows per request, with GPU kernels generated at run "
      "time\n"
      "\nusage: qrow COMMAND [words and options]; 'qrow COMMAND --help' tells more\n\n";
  for (const Command* command : commands())
    text += fmt::format("  {:<9} {}\n", command->name, command->summary);
  text += "\nexample: qrow prewarm \"heads=64/8 rows=4 kv=e4m3\" --arch sm_90a\n";
  return text;
}

const Command* find_command(std::string_view name) {
  auto found = std::find_if(commands().begin(), commands().end(),
                            [&](const Command* command) { return name == command->name; });
  return found == commands().end() ? nullptr : *found;
}

std::string known_commands() {
  std::string names;
  for (const Command* command : commands())
    names += (names.empty() ? "" : ", ") + std::string(command->name);
  return names;
}

void print(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

int print_help(const Command& command, std::FILE* out) {
  print(out, command.usage);
  print(out, kCommonUsage);
  return kExitDone;
}

int run(const Command& command, std::span<const char* const> words, std::FILE* out,
        std::FILE* err) {
  Arguments arguments(words);
  bool wants_help = arguments.flag("--help");
  if (wants_help || arguments.flag("-h")) return print_help(command, out);
  Output::Options options{.json = arguments.flag("--json"), .quiet = arguments.flag("--quiet")};
  Output output(out, err, options);
  try {
    if (&command != &kEnvCommand) check_environment();  // `env` shows what is wrong instead
    return command.run(arguments, output);
  } catch (const Error& error) {
    output.error("{}: {}", command.name, error.what());
    if (exit_code(error.status()) == kExitUsage)
      output.note("'qrow {} --help' shows the form and an example", command.name);
    return exit_code(error.status());
  }
}

int run_words(std::span<const char* const> words, std::FILE* out, std::FILE* err) {
  std::string_view name = words.empty() ? "" : words[0];
  if (name == "help" && words.size() > 1) {
    words = words.subspan(1);
    name = words[0];
    if (const Command* command = find_command(name)) return print_help(*command, out);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    print(out, overview());
    return kExitDone;
  }
  if (name == "--version" || name == "version") {
    print(out, version_text() + '\n');
    return kExitDone;
  }
  if (name.empty()) {
    print(err, overview());
    return kExitUsage;
  }
  if (const Command* command = find_command(name)) return run(*command, words.subspan(1), out, err);
  print(err, fmt::format("qrow: command '{}' is unknown: legal are {}\n", name, known_commands()));
  return kExitUsage;
}

}  // namespace

std::span<const Command* const> commands() { return kCommands; }

int exit_code(Status status) {
  switch (status) {
    case Status::ok:
      return kExitDone;
    case Status::invalid_argument:
      return kExitUsage;
    case Status::no_compiler:
    case Status::no_device:
      return kExitLacks;
    default:
      return kExitFailed;
  }
}

int run_command_line(std::span<const char* const> words, std::FILE* out, std::FILE* err) {
  try {
    const int code = run_words(words, out, err);
    if (std::fflush(out) == 0 && std::ferror(out) == 0) return code;
    print(err,
          "qrow: standard output could not be written (closed, or the disk is full): what it holds "
          "is incomplete\n");
    return code == kExitDone ? kExitFailed : code;
  } catch (const Error& error) {
    print(err, fmt::format("qrow: {}\n", error.what()));
    return exit_code(error.status());
  } catch (const std::exception& error) {
    print(err, fmt::format("qrow: {}\n", error.what()));
    return kExitFailed;
  }
}

}  // namespace qrow
