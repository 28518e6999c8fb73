// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/program.h"

#include <elf.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gacer::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxScripts = 4;  // as the kernel
constexpr size_t kMaxLine = 256;

bool is_program_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

Error cannot_run(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Error{ENOENT, path + ": " + strerror(ENOENT)};
  return Error{EACCES, path + ": " + strerror(EACCES)};
}

// As execvp(3): a word with a slash is a path.
Result<std::string> search(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    if (is_program_file(word)) return fs::absolute(word).string();
    return cannot_run(word);
  }
  const char* path = getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  Error error{ENOENT, word + ": " + strerror(ENOENT)};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (fs::path(folder.empty() ? "." : folder) / word).string();
    if (is_program_file(candidate)) return fs::absolute(candidate).string();
    if (fs::exists(candidate)) error = cannot_run(candidate);
  }
  return error;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(kMaxLine, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  return line.substr(0, line.find('\n'));
}

// "#!/usr/bin/env -S python3 -u" -> python3; other interpreters: themselves. Empty: no such line.
std::string interpreter_of(const std::string& line) {
  if (line.rfind("#!", 0) != 0) return "";
  std::istringstream words(line.substr(2));
  std::string interpreter;
  words >> interpreter;
  if (fs::path(interpreter).filename() != "env") return interpreter;
  for (std::string word; words >> word;)
    if (word[0] != '-' && word.find('=') == std::string::npos) return word;
  return interpreter;
}

bool gains_privileges(const std::string& path) {
  struct stat info {};
  // Nothing is gained where the kernel was told so; a mount with nosuid is not looked at.
  if (stat(path.c_str(), &info) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) return true;
  const bool set_group = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0;
  if (set_group && info.st_gid != getgid()) return true;
  return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// A file without a "#!" line that is no ELF file goes to the shell, as execvp(3) does.
Result<std::string> next_file(const std::string& path) {
  const std::string interpreter = interpreter_of(first_line(path));
  return search(interpreter.empty() ? "/bin/sh" : interpreter);
}

}  // namespace

Result<Program> find_program(const std::string& word) {
  auto path = search(word);
  if (!path) return path.error();
  Program program;
  program.path = *path;
  for (std::string at = *path;; at = *path) {
    auto elf = read_elf(at);
    if (elf) {
      program.executable = at;
      program.elf = std::move(elf).value();
      program.gains_privileges = gains_privileges(at);
      return program;
    }
    if (elf.error().code != ENOEXEC) return elf.error();
    program.scripts.push_back(at);
    if (program.scripts.size() > kMaxScripts) return Error{ELOOP, at + ": too many interpreters"};
    path = next_file(at);
    if (!path) return Error{path.error().code, at + " wants " + path.error().message};
  }
}

std::optional<Obstacle> preload_obstacle(const Program& program, uint16_t shim_machine) {
  const ElfFile& elf = program.elf;
  const std::string& file = program.executable;
  const std::string loader = fs::path(elf.interpreter).filename().string();
  if (!elf.is_64_bit || elf.machine != shim_machine)
    return Obstacle{"architecture",
                    fmt::format("{} is a{} program for {}, the shim is for {}", file,
                                elf.is_64_bit ? "" : " 32-bit", machine_text(elf.machine),
                                machine_text(shim_machine))};
  if (elf.is_static() && elf.soname.empty())
    return Obstacle{"static", file + " is statically linked: LD_PRELOAD has no effect on it"};
  if (loader.rfind("ld-musl", 0) == 0)
    return Obstacle{"musl", file + " uses musl (" + elf.interpreter +
                                "): gacer regulates programs of the GNU C library only; use a "
                                "glibc build or image"};
  if (program.gains_privileges)
    return Obstacle{"setuid", file +
                                  " gains privileges (setuid, setgid or capabilities): the "
                                  "loader ignores LD_PRELOAD; run what it starts instead"};
  if (!loader.empty() && loader.rfind("ld", 0) != 0)
    return Obstacle{"loader", file + " uses an unknown loader " + elf.interpreter};
  return std::nullopt;
}

std::string machine_text(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm";
    default:
      return fmt::format("machine {}", machine);
  }
}

}  // namespace gacer::tools::doctor
