// SPDX-License-Identifier: Apache-2.0
// The daemon behind nvidia-cuda-mps-control -d: answers commands on the control socket until
// `quit`.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/mps/mps_state.h"

namespace gacer::simdevice {

// Creates the directory and listens. Error when another daemon answers there.
Result<UniqueFd> mps_listen(const std::string& directory);

// Serves connections on `listener` one after the other until `quit`, then removes the socket. The
// directory holds nvidia-cuda-mps-control.pid meanwhile, $CUDA_MPS_LOG_DIRECTORY (when set)
// control.log.
void mps_serve(UniqueFd listener, const std::string& directory);

}  // namespace gacer::simdevice
