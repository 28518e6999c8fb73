// SPDX-License-Identifier: Apache-2.0
// Which file will run for a command's first word, and what would keep a preloaded library out of
// it. Source: execve(2), ld.so(8) "secure-execution mode".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/elf_file.h"

namespace gacer::tools::doctor {

struct Program {
  std::string path;                  // what the first word means, by PATH
  std::vector<std::string> scripts;  // files with "#!" on the way to the executable
  std::string executable;            // the ELF file that runs
  ElfFile elf;
  bool gains_privileges = false;  // setuid, setgid or file capabilities that count for us
};

// Error::code: ENOENT (not found), EACCES (not executable), or why the file cannot be read. Follows
// "#!" lines, "#!/usr/bin/env NAME" included.
Result<Program> find_program(const std::string& word);

// Why LD_PRELOAD of a shim for `shim_machine` has no effect on the program, as a whole sentence;
// empty: it has. The reason's first word is fixed: static, setuid, musl, architecture, loader.
struct Obstacle {
  std::string word;
  std::string text;
};
std::optional<Obstacle> preload_obstacle(const Program& program, uint16_t shim_machine);

// "x86-64" for EM_X86_64.
std::string machine_text(uint16_t machine);

}  // namespace gacer::tools::doctor
