// SPDX-License-Identifier: Apache-2.0
// Looking around in the environment that a command would run in, without running the command.
#pragma once

#include "tools/doctor/child.h"
#include "tools/doctor/probe_report.h"
#include "tools/doctor/program.h"

namespace gacer::tools::doctor {

// gacer-probe under the program's own loader. Errors say why there is no whole report.
Result<ProbeReport> run_probe(const Program& program, const Variables& variables, bool gpu);

struct LoadedLibrary {
  std::string name;  // as asked for, or a path
  std::string path;  // empty: not found
};

// What the program's loader would load at its start, RPATH and RUNPATH included; the program itself
// does not run. Empty for scripts' texts and static programs.
std::vector<LoadedLibrary> list_libraries(const Program& program, const Variables& variables);
// The part of it that reads the loader's list.
std::vector<LoadedLibrary> parse_library_list(const std::string& text);

}  // namespace gacer::tools::doctor
