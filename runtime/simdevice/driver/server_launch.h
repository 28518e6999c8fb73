// SPDX-License-Identifier: Apache-2.0
// Finds the server of the simulated device, or starts it. One server a directory: $SIMGPU_DIR, else
// $XDG_RUNTIME_DIR/simgpu, else /tmp/simgpu-<uid> (made with mode 0700; refused when it belongs to
// somebody else). The server outlives the process that starts it and never inherits its files,
// signals or LD_PRELOAD.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::simdriver {

// The directory above; does not create it.
std::string server_directory();

// Path of the server program: $SIMGPU_SERVER, else simgpu-server beside this library.
std::string server_program();

// A connected SOCK_SEQPACKET socket. Concurrent callers of several processes start one server only
// (lock file).
Result<UniqueFd> connect_to_server();

}  // namespace gacer::simdriver
