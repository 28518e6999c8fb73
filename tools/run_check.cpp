// SPDX-License-Identifier: Apache-2.0
#include "tools/run_check.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/abi/version.h"
#include "tools/doctor/environment.h"
#include "tools/doctor/shim_checks.h"
#include "tools/preload.h"

namespace gacer::tools {
namespace {

using namespace doctor;

std::string own_loader() {
  const auto self = read_elf("/proc/self/exe");
  return self ? self->interpreter : "";
}

std::string shim_problem(const std::string& shim) {
  const auto elf = read_shim(shim);
  if (!elf) return elf.error().message;
  const std::string needed = needed_glibc(*elf);
  if (version_less(gnu_get_libc_version(), needed))
    return fmt::format("the shim {} needs GLIBC_{}, this system has {}", shim, needed,
                       gnu_get_libc_version());
  const auto version = shim_version(shim);
  if (!version) return version.error().message;
  if (*version != abi::kAbiVersion)
    return fmt::format("the shim {} speaks version {}, this gacer {}: install one release", shim,
                       *version, abi::kAbiVersion);
  return "";
}

// A program that brings a loader may bring a C library that cannot load the shim.
std::string foreign_loader_problem(const Program& program, const std::string& shim) {
  if (program.elf.interpreter == own_loader()) return "";
  const auto libraries = list_libraries(program, {{"LD_PRELOAD", shim}});
  for (const LoadedLibrary& library : libraries)
    if (library.path == shim) return "";
  return fmt::format("the loader of {} ({}) does not load the shim {}; 'gacer doctor' says why",
                     program.executable, program.elf.interpreter, shim);
}

}  // namespace

Result<uint32_t> shim_version(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr)
    return Error{ENOEXEC, std::string("the shim cannot be loaded: ") + dlerror()};
  void* address = dlsym(handle, "gacer_shim_version");
  if (address == nullptr) return Error{ENOEXEC, path + " is not the shim of gacer"};
  uint32_t (*function)() = nullptr;
  memcpy(&function, &address, sizeof function);
  return function();
}

RunCheck check_run(const Program& program, const std::string& shim) {
  RunCheck check;
  const auto elf = read_elf(shim);
  if (const std::string problem = shim_problem(shim); !problem.empty()) {
    check.problems.push_back(problem);
    check.may_preload = false;
    return check;
  }
  if (const auto obstacle = preload_obstacle(program, elf->machine)) {
    check.problems.push_back(obstacle->text);
    // Elsewhere it does no harm, and children of the program may use it.
    check.may_preload = obstacle->word != "architecture";
    return check;
  }
  if (const std::string problem = foreign_loader_problem(program, shim); !problem.empty())
    check.problems.push_back(problem);
  return check;
}

}  // namespace gacer::tools
