// SPDX-License-Identifier: Apache-2.0
// What a verb of `gacer` is, and how it fails.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace gacer::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 2,
  kExitNoDaemon = 3,
  kExitRefused = 4,
  kExitRunFailed = 125
};

// One line for the user; main() prints it and exits with the code.
class ToolError : public std::runtime_error {
 public:
  ToolError(int code, const std::string& line) : std::runtime_error(line), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// The words after the verb.
using Arguments = std::vector<std::string>;

struct Command {
  const char* name;
  const char* synopsis;
  int (*run)(const Arguments& arguments);
};

int run_run(const Arguments& arguments);
int run_doctor(const Arguments& arguments);
int run_status(const Arguments& arguments);
int run_tune(const Arguments& arguments);
int run_policy(const Arguments& arguments);
int run_stop(const Arguments& arguments);

inline constexpr Command kCommands[] = {
    {"run", "start a program as a tenant", run_run},
    {"doctor", "check that a program would be regulated", run_doctor},
    {"status", "show tenants, gates and memory", run_status},
    {"tune", "change a knob while tenants run, or list the knobs", run_tune},
    {"policy", "change the policy while tenants run", run_policy},
    {"stop", "end gacerd; tenants go on unregulated", run_stop},
};

}  // namespace gacer::tools
