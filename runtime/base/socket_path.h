// SPDX-License-Identifier: Apache-2.0
// Where the control socket is, one rule for daemon, shim and tools:
// $GACER_SOCKET, else $XDG_RUNTIME_DIR/gacer.sock (not for root, whose daemon serves the machine
// and must outlive the session), else /run/gacer/gacer.sock. Empty variables count as unset.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace gacer {

inline std::string default_socket_path() {
  if (const char* path = getenv("GACER_SOCKET"); path != nullptr && *path != '\0') return path;
  if (const char* dir = getenv("XDG_RUNTIME_DIR"); dir != nullptr && *dir != '\0' && geteuid() != 0)
    return std::string(dir) + "/gacer.sock";
  return "/run/gacer/gacer.sock";
}

}  // namespace gacer
