// SPDX-License-Identifier: Apache-2.0
// Whether a CUDA Multi-Process Service serves this environment. Looks at files and whether somebody
// listens; starts nothing and sends nothing.
#pragma once

#include "tools/doctor/check.h"

namespace gacer::tools::doctor {

// Without MPS kernels of different processes do not overlap: a warning. `pipe_directory`:
// $CUDA_MPS_PIPE_DIRECTORY or its default.
Check mps_check(const std::string& pipe_directory);
std::string mps_pipe_directory();

}  // namespace gacer::tools::doctor
