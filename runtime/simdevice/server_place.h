// SPDX-License-Identifier: Apache-2.0
// Where the server of the simulated device listens, for all libraries that talk to it.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::simdevice {

// $SIMGPU_DIR, else $XDG_RUNTIME_DIR/simgpu, else /tmp/simgpu-<uid>. Does not create it.
std::string server_directory();
std::string server_socket_path();

// A connected SOCK_SEQPACKET socket; starts nothing. Error::code: errno.
Result<UniqueFd> connect_socket(const std::string& path);

}  // namespace gacer::simdevice
