// SPDX-License-Identifier: Apache-2.0
// The daemon behind nvidia-cuda-mps-control -d: answers commands on the control socket until
// `quit`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::simdevice {

// What the daemon knows and how it answers; no I/O, so it can be tested directly.
class MpsState {
 public:
  // Answers as the real tool prints them. `server_started PID` is ours: a simgpu-server that got
  // its first MPS client says so.
  std::string answer(std::string_view line);
  bool quit_requested() const { return quit_; }

 private:
  std::string set_percentage(std::string_view argument);
  std::string server_list() const;

  double default_percentage_ = 100.0;
  std::vector<int> servers_;
  bool quit_ = false;
};

// Creates the directory and listens. Error when another daemon answers there.
Result<UniqueFd> mps_listen(const std::string& directory);

// Serves connections on `listener` one after the other until `quit`, then removes the socket.
void mps_serve(UniqueFd listener, const std::string& directory);

}  // namespace gacer::simdevice
