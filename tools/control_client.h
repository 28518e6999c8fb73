// SPDX-License-Identifier: Apache-2.0
// A tool's end of the control socket.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/unique_fd.h"

namespace gacer::tools {

class ControlClient {
 public:
  // Throws ToolError kExitNoDaemon, with what to do, when nobody answers.
  explicit ControlClient(const std::string& socket_path);
  // Nothing when nobody answers.
  static std::optional<ControlClient> try_connect(const std::string& socket_path);

  // What follows the first line of an "ok" answer. Throws ToolError kExitRefused with the daemon's
  // own line.
  std::string request(const std::string& text);
  // Returns once the daemon has closed the connection.
  void wait_closed();

 private:
  explicit ControlClient(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace gacer::tools
