// SPDX-License-Identifier: Apache-2.0
#include "tools/preload.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "tools/command.h"

namespace gacer::tools {
namespace {

namespace fs = std::filesystem;

// ld.so(8)
constexpr const char* kPreloadSeparators = " :";

fs::path shim_candidate() {
  if (const char* given = getenv("GACER_SHIM"); given != nullptr && *given != '\0')
    return fs::absolute(given).lexically_normal();
  return (fs::path(executable_folder()) / "../lib/libgacer.so").lexically_normal();
}

}  // namespace

std::string executable_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path().string();
}

std::string find_shim() {
  std::string path = shim_candidate().string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    throw ToolError(kExitRefused,
                    fmt::format("shim {} not found; set GACER_SHIM to libgacer.so", path));
  if (path.find_first_of(kPreloadSeparators) != std::string::npos)
    throw ToolError(kExitRefused,
                    fmt::format("shim path '{}' holds a space or colon, which LD_PRELOAD cannot "
                                "express; move or link libgacer.so elsewhere and set GACER_SHIM",
                                path));
  return path;
}

std::string with_preload(const std::string& current, const std::string& shim) {
  std::string result = shim;
  for (size_t at = 0; at < current.size();) {
    const size_t end = std::min(current.find_first_of(kPreloadSeparators, at), current.size());
    const std::string entry = current.substr(at, end - at);
    if (!entry.empty() && entry != shim) result += ":" + entry;
    at = end + 1;
  }
  return result;
}

}  // namespace gacer::tools
