// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/cli_parse.h"
#include "tools/doctor/answer_rows.h"
#include "tools/doctor/daemon_checks.h"
#include "tools/doctor/driver_checks.h"
#include "tools/doctor/lookup_checks.h"
#include "tools/doctor/mps_check.h"
#include "tools/doctor/shim_checks.h"
#include "tools/preload.h"
#include "tools/run_options.h"
#include "tools/text_table.h"

namespace gacer::tools {
namespace {

using namespace doctor;

constexpr int kExitUnregulated = 1;
constexpr int kExitCouldNotCheck = 2;

struct Options {
  std::string socket_path;
  bool as_json = false;
  bool verbose = false;
  bool gpu = false;
  bool answers = false;
  Arguments command;
};

struct Outcome {
  Checks checks;
  std::vector<AnswerRow> answers;
  bool complete = true;  // false: something could not be looked at
  void add(Check check) { checks.push_back(std::move(check)); }
  void add(Checks more) {
    for (Check& check : more) add(std::move(check));
  }
  void could_not(const char* name, const std::string& why) {
    complete = false;
    add(fail(name, why));
  }
};

const char* level_text(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    case Level::kFail:
      return "fail";
  }
  return "fail";
}

Variables environment_of(const Options& options, const std::string& shim) {
  RunOptions run;
  run.socket_path = options.socket_path;
  run.name = "doctor";
  const char* preload = getenv("LD_PRELOAD");
  return run_environment(run, shim, preload == nullptr ? "" : preload);
}

std::string describe(const Program& program) {
  if (program.scripts.empty()) return program.executable;
  return fmt::format("{}, run by {}", program.scripts[0], program.executable);
}

void check_lookups(const ProbeReport& report, const ElfFile& shim, Outcome& outcome) {
  if (report.driver_path.empty()) return;
  outcome.add(lookup_checks(report));
  const auto driver = read_elf(report.driver_path);
  if (!driver) return outcome.could_not("driver-exports", driver.error().message);
  outcome.add(missing_exports_check(driver->functions, shim.functions));
}

// A shim that needs a newer C library keeps every program from starting, the probe too.
void explain_probe(const Program& program, const ElfFile& shim, const Error& error,
                   Outcome& outcome) {
  const auto without_shim = run_probe(program, {{"LD_PRELOAD", ""}}, false);
  const Check glibc = glibc_check(shim, without_shim ? without_shim->libc_version : "");
  if (glibc.level == Level::kFail) return outcome.add(glibc);
  outcome.could_not("probe", error.message);
}

void check_environment(const Options& options, const Program& program, const std::string& shim_path,
                       const ElfFile& shim, Outcome& outcome) {
  const auto libraries = list_libraries(program, {});
  Variables variables = environment_of(options, shim_path);
  // The shim looks where the program would have looked; the probe is another program.
  const std::string own = own_driver(libraries);
  if (!own.empty() && getenv("GACER_REAL_LIBCUDA") == nullptr)
    variables["GACER_REAL_LIBCUDA"] = own;
  const auto report = run_probe(program, variables, options.gpu);
  if (!report) return explain_probe(program, shim, report.error(), outcome);
  outcome.add(glibc_check(shim, report->libc_version));
  outcome.add(preload_check(*report, shim_path));
  if (options.answers) outcome.answers = answer_rows(*report);
  outcome.add(driver_check(*report));
  outcome.add(own_driver_check(*report, own));
  outcome.add(toolkit_check(program, libraries, report->driver_version));
  check_lookups(*report, shim, outcome);
  if (options.gpu) outcome.add(gpu_check(*report));
}

void check_program(const Options& options, const std::string& shim_path, const ElfFile& shim,
                   Outcome& outcome) {
  const auto program = find_program(options.command[0]);
  if (!program) return outcome.could_not("program", program.error().message);
  const auto obstacle = preload_obstacle(*program, shim.machine);
  outcome.add(obstacle ? fail("program", obstacle->text) : ok("program", describe(*program)));
  if (!obstacle) check_environment(options, *program, shim_path, shim, outcome);
}

Outcome examine(const Options& options) {
  Outcome outcome;
  std::string shim_path;
  try {
    shim_path = find_shim();
    const auto shim = read_shim(shim_path);
    outcome.add(shim ? ok("shim", shim_path) : fail("shim", shim.error().message));
    if (shim) check_program(options, shim_path, *shim, outcome);
  } catch (const ToolError& error) {
    outcome.add(fail("shim", error.what()));
  }
  outcome.add(daemon_checks(options.socket_path));
  outcome.add(mps_check(mps_pipe_directory()));
  return outcome;
}

int exit_code(const Outcome& outcome) {
  if (!outcome.complete) return kExitCouldNotCheck;
  const bool failed = std::any_of(outcome.checks.begin(), outcome.checks.end(),
                                  [](const Check& c) { return c.level == Level::kFail; });
  return failed ? kExitUnregulated : kExitOk;
}

void print_json(const Options& options, const Outcome& outcome) {
  nlohmann::json checks = nlohmann::json::array();
  for (const Check& check : outcome.checks)
    checks.push_back({{"level", level_text(check.level)},
                      {"name", check.name},
                      {"text", check.text},
                      {"details", check.details}});
  nlohmann::json document = {
      {"command", options.command}, {"exit_code", exit_code(outcome)}, {"checks", checks}};
  for (const AnswerRow& row : outcome.answers)
    document["answers"].push_back({{"way", row.way},
                                   {"name", row.name},
                                   {"cuda", row.cuda},
                                   {"stream", row.stream},
                                   {"object", row.object},
                                   {"variant", row.variant}});
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_answers(const Outcome& outcome) {
  std::vector<TextRow> rows{{"WAY", "NAME", "CUDA", "STREAM", "VARIANT", "ANSWERED_BY"}};
  for (const AnswerRow& row : outcome.answers)
    rows.push_back({row.way, row.name, row.cuda, row.stream, row.variant,
                    row.object.empty() ? "nobody" : row.object});
  fmt::print("{}", format_table(rows));
}

void print_lines(const Options& options, const Outcome& outcome) {
  if (options.answers) print_answers(outcome);
  for (const Check& check : outcome.checks) {
    fmt::print("{:<4} {}: {}\n", level_text(check.level), check.name, check.text);
    if (options.verbose)
      for (const std::string& line : check.details) fmt::print("       {}\n", line);
  }
}

Options parse_doctor(const Arguments& arguments, bool& help) {
  CLI::App app("Checks that a command's launches and allocations would be regulated.",
               "gacer doctor");
  Options options;
  add_socket_option(app, options.socket_path);
  app.add_flag("--json", options.as_json, "The same as a document");
  app.add_flag("--verbose", options.verbose, "Every detail below its check");
  app.add_flag("--answers", options.answers,
               "Every single lookup: who answered, and with which variant of the function");
  app.add_flag(
      "--gpu", options.gpu,
      "Also initialise the driver (cuInit) and list devices; without it no GPU is touched");
  app.footer(
      "The command and its words follow, best after '--'; it is looked at, not started. Without "
      "one "
      "the shell is taken.\nExit code: 0 all is regulated, 1 something would run unregulated, 2 "
      "usage, or it could not be checked.");
  app.prefix_command();
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  help = !parse(app, Arguments(arguments.begin(), dashes));
  options.command = app.remaining();
  if (dashes != arguments.end())
    options.command.insert(options.command.end(), options.command.empty() ? dashes + 1 : dashes,
                           arguments.end());
  if (options.command.empty()) options.command = {"/bin/sh"};
  if (options.command[0].rfind('-', 0) == 0)
    throw ToolError(kExitUsage, fmt::format("unknown option '{}' (see 'gacer doctor --help')",
                                            options.command[0]));
  return options;
}

}  // namespace

int run_doctor(const Arguments& arguments) {
  bool help = false;
  const Options options = parse_doctor(arguments, help);
  if (help) return kExitOk;
  const Outcome outcome = examine(options);
  options.as_json ? print_json(options, outcome) : print_lines(options, outcome);
  return exit_code(outcome);
}

}  // namespace gacer::tools
