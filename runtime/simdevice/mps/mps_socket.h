// SPDX-License-Identifier: Apache-2.0
// The control socket of the stand-in for nvidia-cuda-mps-control: one line in, the answer out,
// connection closed. Lies at <pipe directory>/control (SOCK_STREAM). Thread-safe; every wait is
// bounded by kMpsTimeoutMs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace gacer::simdevice {

inline constexpr int kMpsTimeoutMs = 2000;

// $CUDA_MPS_PIPE_DIRECTORY, or /tmp/nvidia-mps as the real tools have it.
std::string mps_pipe_directory();

// Path of the socket; an Error when it does not fit into a Unix socket address.
Result<std::string> mps_socket_path(const std::string& directory);

// Sends one command and returns the answer. Error::code is an errno: ENOENT or ECONNREFUSED when no
// daemon runs.
Result<std::string> mps_command(const std::string& directory, std::string_view command);

// The same without waiting for the answer, for those that may not wait.
void mps_notify(const std::string& directory, std::string_view line);

// True when a control daemon answers in `directory`; then `percentage` is its default active-thread
// percentage (1..100). Never prints.
bool mps_is_on(const std::string& directory, uint32_t& percentage);

}  // namespace gacer::simdevice
