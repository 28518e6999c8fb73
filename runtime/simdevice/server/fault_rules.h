// SPDX-License-Identifier: Apache-2.0
// Failures on request: the environment of a client (SIMGPU_FAULT) or simgpu-ctl.
//
//   RULES = RULE[,RULE...]     RULE = WORD[:KERNEL][@N][=VALUE]      words: faults.def
//   KERNEL: its name, or the start of it before a '*'; none: every kernel
//   @N: the N-th event of that kind since the rule was given, once; none: each of them
//
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::simdevice {

enum class FaultAction {
#define FAULT(id, word, at, error, what) id,
#include "runtime/simdevice/server/faults.def"
#undef FAULT
};

inline constexpr pid_t kEveryProcess = 0;

struct LaunchFault {
  int error = 0;  // CUresult that ends the contexts of the process
  bool lost = false;
  bool hang = false;
  double slower = 1.0;
  std::string text;
};

class FaultRules {
 public:
  // All rules of `text` or none; the error names what is wrong. `immediate`: what happens at once.
  Status add(std::string_view text, pid_t pid, LaunchFault& immediate);
  // The rules of one process, or all.
  void clear(pid_t pid);

  // An allocation of device memory is about to be made. True: it must fail.
  bool allocation_fails(pid_t pid);
  LaunchFault launch(pid_t pid, std::string_view kernel);

 private:
  struct Rule {
    FaultAction action{};
    std::string kernel;  // empty: every
    bool prefix = false;
    uint64_t nth = 0;  // 0: each
    double value = 0;  // 0: the usual
    pid_t pid = kEveryProcess;
    uint64_t seen = 0;
  };
  static Result<Rule> parse(std::string_view text);
  static bool due(Rule& rule);
  static void apply(const Rule& rule, LaunchFault& out);
  std::vector<Rule> rules_;
};

// A line for each row of faults.def.
std::string fault_help();

}  // namespace gacer::simdevice
