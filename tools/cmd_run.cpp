// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/path_access.h"
#include "tools/control_client.h"
#include "tools/daemon_start.h"
#include "tools/preload.h"
#include "tools/run_check.h"
#include "tools/run_options.h"
#include "tools/watch/watcher.h"

namespace gacer::tools {
namespace {

constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

int cannot_start(const std::string& program, int code) {
  fmt::print(stderr, "gacer run: cannot start '{}': {}\n", program, strerror(code));
  return code == ENOENT || code == ENOTDIR ? kExitNotFound : kExitNotExecutable;
}

// A problem ends the run, or is only said where --best-effort was given.
void report(const RunOptions& options, const std::string& problem) {
  if (!options.best_effort)
    throw ToolError(kExitRefused,
                    problem + "; it would run unregulated (--best-effort starts it anyway)");
  fmt::print(stderr, "gacer run: warning: {}; started unregulated (--best-effort)\n", problem);
}

void check_reachable(const RunOptions& options) {
  const auto gids = own_groups();
  const auto blocked = first_blocked_component(options.socket_path, geteuid(), gids);
  if (blocked && blocked->code != ENOENT)
    report(options, fmt::format("gacerd's socket {} cannot be reached: {}: {}", options.socket_path,
                                blocked->component, blocked->reason));
}

void use_daemon(const RunOptions& options, ControlClient& daemon) {
  try {
    daemon.request("version");  // refused by another version, or one that serves another user
  } catch (const ToolError& error) {
    return report(options, error.what());
  }
  if (!options.policy.empty()) daemon.request("policy " + options.policy);
}

void reach_daemon(const RunOptions& options) {
  if (auto client = ControlClient::try_connect(options.socket_path))
    return use_daemon(options, *client);
  if (options.start_daemon) {
    try {
      return start_daemon(options.socket_path, options.policy);
    } catch (const ToolError& error) {
      return report(options, error.what());
    }
  }
  if (!options.policy.empty())
    throw ToolError(kExitNoDaemon, "no gacerd answers at " + options.socket_path +
                                       ", so --policy has nowhere to go");
  check_reachable(options);
  fmt::print(stderr, "gacer run: no gacerd at {} yet; unregulated until one answers\n",
             options.socket_path);
}

// The shim to preload; empty: none, as --best-effort allows.
std::string usable_shim(const RunOptions& options, const doctor::Program& program) {
  std::string shim;
  try {
    shim = find_shim();
  } catch (const ToolError& error) {
    report(options, error.what());
    return "";
  }
  const RunCheck check = check_run(program, shim);
  for (const std::string& problem : check.problems) report(options, problem);
  return check.may_preload ? shim : "";
}

void set_environment(const RunOptions& options, const std::string& shim) {
  const char* preload = getenv("LD_PRELOAD");
  auto variables = run_environment(options, shim, preload == nullptr ? "" : preload);
  if (shim.empty()) variables.erase("LD_PRELOAD");
  for (const auto& [name, value] : variables)
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
}

int become(const Arguments& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return cannot_start(command[0], errno);
}

}  // namespace

int run_run(const Arguments& arguments) {
  const RunOptions options = parse_run(arguments);
  if (options.command.empty()) return kExitOk;
  const auto program = doctor::find_program(options.command[0]);
  if (!program) return cannot_start(options.command[0], program.error().code);
  const std::string shim = usable_shim(options, *program);
  reach_daemon(options);
  if (options.watch && !shim.empty())
    start_watcher({options.socket_path, options.name, shim, options.strict, !options.best_effort});
  set_environment(options, shim);
  return become(options.command);
}

}  // namespace gacer::tools
