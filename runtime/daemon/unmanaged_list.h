// SPDX-License-Identifier: Apache-2.0
// Processes that `gacer run` has seen to use CUDA without the shim, so that status can show them.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::daemon {

struct UnmanagedProcess {
  pid_t pid = 0;
  std::string executable;
  std::string tenant;  // whose command started it
};

class UnmanagedList {
 public:
  static constexpr size_t kMaxEntries = 64;

  // Those that have ended make room; beyond the maximum new ones are dropped. A pid is there once.
  void add(UnmanagedProcess process);
  // Those that live.
  const std::vector<UnmanagedProcess>& entries();

 private:
  void remove_ended();
  std::vector<UnmanagedProcess> entries_;
};

// "PID EXECUTABLE TENANT"; the tenant's name may hold spaces.
Result<UnmanagedProcess> parse_unmanaged(std::string_view text);

}  // namespace gacer::daemon
