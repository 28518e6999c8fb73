// SPDX-License-Identifier: Apache-2.0
// Says which processes of a started program use CUDA without the shim.
#pragma once

#include <string>

namespace gacer::tools {

struct WatchOptions {
  std::string socket_path;  // of gacerd, which is told as well
  std::string tenant;
  std::string shim_path;
  bool strict = false;      // such processes are ended
  bool expect_shim = true;  // a program without it is worth a line even if it uses no CUDA
};

// Forks a process that watches the caller, which is about to exec the program, and all its
// descendants, until the caller's process ends. It is nobody's child, in a session of its own, and
// keeps standard error only. A failure is silent: watching is no reason not to run.
void start_watcher(const WatchOptions& options);

}  // namespace gacer::tools
