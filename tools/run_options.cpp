// SPDX-License-Identifier: Apache-2.0
#include "tools/run_options.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "runtime/shm/tenant_fields.h"
#include "tools/cli_parse.h"
#include "tools/preload.h"
#include "tools/size_text.h"

namespace gacer::tools {
namespace {

namespace fs = std::filesystem;

// As CLI11 wants it: what is wrong, or nothing.
std::string check_name(const std::string& name) {
  if (shm::is_tenant_name(name)) return {};
  return fmt::format("must be 1..{} printable ASCII characters", shm::kMaxTenantName);
}

void declare(CLI::App& app, RunOptions& options, std::string& memory) {
  add_socket_option(app, options.socket_path);
  app.add_option("--name", options.name,
                 "Tenant; processes of one name share class, weight and quota (default: "
                 "PROGRAM-PID)")
      ->check(CLI::Validator(check_name, "TEXT"));
  app.add_option("--class", options.tenant_class, "latency (protected) or batch (best effort)")
      ->check(CLI::IsMember({"latency", "batch"}))
      ->capture_default_str();
  app.add_option("--mem", memory,
                 fmt::format("Device memory quota, {} (default: none)", kSizeHelp));
  app.add_option("--weight", options.weight, "Share among tenants of one class")
      ->check(CLI::Range(shm::kMinWeight, shm::kMaxWeight))
      ->capture_default_str();
  app.add_option("--priority", options.priority, "Inside the class; greater goes first")
      ->check(CLI::Range(shm::kMinPriority, shm::kMaxPriority))
      ->capture_default_str();
  app.add_option("--policy", options.policy, "Policy to start gacerd with or to switch it to");
  app.add_flag_callback(
      "--no-daemon", [&options] { options.start_daemon = false; },
      "Do not start gacerd when none answers");
  app.add_flag("--best-effort", options.best_effort,
               "Start the program although it, or a part of it, would run unregulated");
  app.add_flag(
      "--strict", options.strict,
      "End processes of the program that use CUDA without the shim, instead of naming them");
  app.add_flag_callback(
      "--no-watch", [&options] { options.watch = false; }, "Do not look for such processes");
  app.footer(
      "The program and its words follow, best after '--'.\nExit code: the program's own; 125 gacer "
      "refused or failed, 126 the program cannot be executed, 127 it was not found.");
}

std::string default_name(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  const std::string pid = "-" + std::to_string(getpid());
  return name.substr(0, shm::kMaxTenantName - pid.size()) + pid;
}

void check(const RunOptions& options) {
  if (options.command.empty())
    throw ToolError(kExitUsage, "no program given: gacer run [OPTIONS] -- PROGRAM [WORDS]");
  if (options.command[0].rfind('-', 0) == 0)
    throw ToolError(kExitUsage, fmt::format("unknown option '{}' (see 'gacer run --help')",
                                            options.command[0]));
}

uint64_t parse_memory(const std::string& text) {
  if (text.empty()) return 0;
  const auto bytes = parse_size(text);
  if (!bytes) throw ToolError(kExitUsage, "--mem: " + bytes.error().message);
  return *bytes;
}

}  // namespace

RunOptions parse_run(const Arguments& arguments) {
  CLI::App app("Starts a program as a tenant: under the shim, regulated by gacerd.", "gacer run");
  RunOptions options;
  std::string memory;
  declare(app, options, memory);
  // Ours end at "--" or at the first word that is no option of ours; all that follows is the
  // program's.
  app.prefix_command();
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (!parse(app, Arguments(arguments.begin(), dashes))) return {};
  options.command = app.remaining();
  if (dashes != arguments.end())
    options.command.insert(options.command.end(), options.command.empty() ? dashes + 1 : dashes,
                           arguments.end());
  options.memory_limit_bytes = parse_memory(memory);
  if (options.name.empty() && !options.command.empty())
    options.name = default_name(options.command[0]);
  check(options);
  // The program may change its folder before its first CUDA call.
  options.socket_path = fs::absolute(options.socket_path).lexically_normal().string();
  return options;
}

std::map<std::string, std::string> run_environment(const RunOptions& options,
                                                   const std::string& shim,
                                                   const std::string& current_preload) {
  std::map<std::string, std::string> variables{
      {"LD_PRELOAD", with_preload(current_preload, shim)},
      {"GACER_SOCKET", options.socket_path},
      {"GACER_TENANT", options.name},
      {"GACER_CLASS", options.tenant_class},
      {"GACER_WEIGHT", std::to_string(options.weight)},
      {"GACER_PRIORITY", std::to_string(options.priority)},
  };
  const uint64_t limit = options.memory_limit_bytes;
  variables["GACER_MEM"] = limit == 0 ? "" : std::to_string(limit);
  return variables;
}

}  // namespace gacer::tools
