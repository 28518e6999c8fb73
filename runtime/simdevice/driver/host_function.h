// SPDX-License-Identifier: Apache-2.0
// Host functions and stream callbacks. They run one after the other on one thread of this library,
// which is started with the first of them and has all signals blocked.
#pragma once

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/work.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdriver {

// Sets op.token. The call runs once, when the server says that the stream has got there.
CUresult register_host_function(const HostWork& work, simdevice::HostFunctionOp& op);

// This thread runs a callback of the program: calls are answered with CUDA_ERROR_NOT_PERMITTED.
bool inside_host_function();

}  // namespace gacer::simdriver
