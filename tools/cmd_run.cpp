// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/control_client.h"
#include "tools/daemon_start.h"
#include "tools/preload.h"
#include "tools/run_options.h"

namespace gacer::tools {
namespace {

constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

void reach_daemon(const RunOptions& options) {
  if (auto client = ControlClient::try_connect(options.socket_path)) {
    if (!options.policy.empty()) client->request("policy " + options.policy);
    return;
  }
  if (options.start_daemon) return start_daemon(options.socket_path, options.policy);
  if (!options.policy.empty())
    throw ToolError(kExitNoDaemon, "no gacerd answers at " + options.socket_path +
                                       ", so --policy has nowhere to go");
  fmt::print(stderr, "gacer run: no gacerd at {} yet; unregulated until one answers\n",
             options.socket_path);
}

int become(const Arguments& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int code = errno;
  fmt::print(stderr, "gacer run: cannot start '{}': {}\n", command[0], strerror(code));
  return code == ENOENT || code == ENOTDIR ? kExitNotFound : kExitNotExecutable;
}

}  // namespace

int run_run(const Arguments& arguments) {
  const RunOptions options = parse_run(arguments);
  if (options.command.empty()) return kExitOk;
  const std::string shim = find_shim();
  reach_daemon(options);
  const char* preload = getenv("LD_PRELOAD");
  const auto variables = run_environment(options, shim, preload == nullptr ? "" : preload);
  for (const auto& [name, value] : variables)
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  return become(options.command);
}

}  // namespace gacer::tools
