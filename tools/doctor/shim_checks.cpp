// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/shim_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "runtime/abi/version.h"

namespace gacer::tools::doctor {

Result<ElfFile> read_shim(const std::string& path) {
  auto elf = read_elf(path);
  if (!elf) return elf.error();
  const auto& functions = elf->functions;
  if (std::find(functions.begin(), functions.end(), "gacer_shim_version") == functions.end())
    return Error{ENOEXEC, path + " is not the shim of gacer (it has no gacer_shim_version)"};
  return elf;
}

std::string needed_glibc(const ElfFile& shim) {
  return greatest_version(shim.needed_versions, "GLIBC_");
}

Check glibc_check(const ElfFile& shim, const std::string& available) {
  const std::string needed = needed_glibc(shim);
  if (available.empty())
    return warn("glibc", fmt::format("the shim needs GLIBC_{}; the command's is unknown", needed));
  const std::string text =
      fmt::format("the shim needs GLIBC_{}, the command has {}", needed, available);
  if (version_less(available, needed))
    return fail("glibc", text + ": it cannot be loaded; use a build of gacer for that system");
  return ok("glibc", text);
}

Check preload_check(const ProbeReport& report, const std::string& shim_path) {
  std::error_code ignored;
  if (report.shim_path.empty())
    return fail("preload",
                "a program in this environment does not get the shim: the loader cannot "
                "read " +
                    shim_path + " or drops LD_PRELOAD");
  if (!std::filesystem::equivalent(report.shim_path, shim_path, ignored))
    return fail("preload", fmt::format("another shim, {}, is loaded in place of {}",
                                       report.shim_path, shim_path));
  if (report.shim_version != abi::kAbiVersion)
    return fail("preload",
                fmt::format("shim {} speaks version {}, this gacer {}: install one release",
                            report.shim_path, report.shim_version, abi::kAbiVersion));
  return ok("preload", "the shim is loaded, version " + std::to_string(report.shim_version));
}

}  // namespace gacer::tools::doctor
