// SPDX-License-Identifier: Apache-2.0
// What `gacer run` makes sure of before it starts a program: that the shim will be in it.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/doctor/program.h"

namespace gacer::tools {

// gacer_shim_version() of a shim file, asked by loading it. Errors in the loader's words.
Result<uint32_t> shim_version(const std::string& path);

struct RunCheck {
  // Each a whole clause: what, where, what to do. Empty: the program will be regulated.
  std::vector<std::string> problems;
  // False: the program cannot even start with the shim in LD_PRELOAD (another libc or machine).
  bool may_preload = true;
};

// `shim`: find_shim()'s answer. Costs no process but for programs with a loader of their own, whose
// list of libraries is asked for.
RunCheck check_run(const doctor::Program& program, const std::string& shim);

}  // namespace gacer::tools
