// SPDX-License-Identifier: Apache-2.0
// gacer VERB ...: finds the verb's row, runs it, turns exceptions into one line and an exit code.
#include <fmt/core.h>

#include <string_view>

#include "tools/cli_parse.h"
#include "tools/command.h"

namespace gacer::tools {
namespace {

void print_help(FILE* out) {
  fmt::print(out,
             "gacer: share one GPU among unmodified programs\n\nUsage: gacer VERB [OPTIONS]\n\n");
  for (const Command& command : kCommands)
    fmt::print(out, "  {:<8} {}\n", command.name, command.synopsis);
  fmt::print(out, "\n'gacer VERB --help' says more.\n");
}

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands)
    if (name == command.name) return &command;
  return nullptr;
}

// `gacer run` ends with the program's own code; its own failures are apart, as env(1) has them.
int exit_code(const Command& command, int code) {
  return command.run == run_run ? kExitRunFailed : code;
}

int report_usage(const CLI::ParseError& error, const Command& command) {
  fmt::print(stderr, "gacer {}: {} (see 'gacer {} --help')\n", command.name, error.what(),
             command.name);
  return exit_code(command, kExitUsage);
}

// The daemon's lines may start with the verb already.
std::string_view without_verb(std::string_view line, const std::string& verb) {
  return line.rfind(verb + ": ", 0) == 0 ? line.substr(verb.size() + 2) : line;
}

int run_command(const Command& command, const Arguments& arguments) {
  try {
    return command.run(arguments);
  } catch (const CLI::ParseError& error) {
    return report_usage(error, command);
  } catch (const ToolError& error) {
    fmt::print(stderr, "gacer {}: {}\n", command.name, without_verb(error.what(), command.name));
    return exit_code(command, error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "gacer {}: unexpected failure: {}\n", command.name, error.what());
    return exit_code(command, kExitRefused);
  }
}

int dispatch(const Arguments& words) {
  if (words.empty()) {
    print_help(stderr);
    return kExitUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(stdout);
    return kExitOk;
  }
  const Command* command = find_command(words[0]);
  if (command == nullptr) {
    fmt::print(stderr, "gacer: unknown verb '{}'; 'gacer --help' lists them\n", words[0]);
    return kExitUsage;
  }
  return run_command(*command, Arguments(words.begin() + 1, words.end()));
}

}  // namespace
}  // namespace gacer::tools

int main(int argc, char** argv) {
  return gacer::tools::dispatch(gacer::tools::Arguments(argv + 1, argv + argc));
}
