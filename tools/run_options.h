// SPDX-License-Identifier: Apache-2.0
// Words of `gacer run`, checked, and the environment that follows from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/command.h"

namespace gacer::tools {

struct RunOptions {
  std::string socket_path;
  std::string name;  // default: the program's name and our pid
  std::string tenant_class = "batch";
  uint64_t memory_limit_bytes = 0;  // 0: none
  uint32_t weight = 1;
  int32_t priority = 0;
  std::string policy;  // empty: the daemon's
  bool start_daemon = true;
  bool best_effort = false;  // start the program although it would run unregulated
  bool watch = true;         // for processes that use CUDA without the shim
  bool strict = false;       // and end those
  Arguments command;         // empty: help was asked for and printed
};

// Throws CLI::ParseError or ToolError kExitUsage.
RunOptions parse_run(const Arguments& arguments);

// Variables to set for the program, or to remove where the value is empty (no quota must not
// inherit one); LD_PRELOAD is built on `current_preload`.
std::map<std::string, std::string> run_environment(const RunOptions& options,
                                                   const std::string& shim,
                                                   const std::string& current_preload);

}  // namespace gacer::tools
