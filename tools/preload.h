// SPDX-License-Identifier: Apache-2.0
// Where our own files are, and the environment that puts the shim into a program.
#pragma once

#include <optional>
#include <string>

namespace gacer::tools {

// Folder of the running executable.
std::string executable_folder();

// $GACER_SHIM, else ../lib/libgacer.so beside the executable's folder; absolute. Throws ToolError
// kExitRefused when there is no such file, or when LD_PRELOAD cannot name it (it separates by space
// and colon, and has no way to quote them).
std::string find_shim();

// `current` (value of LD_PRELOAD, may be empty) with `shim` once, in front, all others kept in
// their order.
std::string with_preload(const std::string& current, const std::string& shim);

}  // namespace gacer::tools
