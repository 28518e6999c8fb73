// SPDX-License-Identifier: Apache-2.0
// Starting gacerd in the background for `gacer run`.
#pragma once

#include <string>

namespace gacer::tools {

// Starts the gacerd that is beside this executable (or $GACER_DAEMON) and returns when it serves
// `socket_path`. It belongs to no terminal, holds none of our descriptors and writes to SOCKET.log.
// If another one was started there meanwhile, that is as good. `policy` may be empty. Throws
// ToolError kExitNoDaemon.
void start_daemon(const std::string& socket_path, const std::string& policy);

}  // namespace gacer::tools
