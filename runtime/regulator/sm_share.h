// SPDX-License-Identifier: Apache-2.0
// Which part of the GPU's SMs one launch needs when its blocks are packed as tightly as occupancy
// allows.
#pragma once

#include "runtime/regulator/regulator.h"

namespace gacer::regulator {

// In (0, 1]; 1 when the device or the launch's shape is unknown (zero threads or blocks, graphs,
// copies). Limits per SM: threads, registers, shared memory, blocks (CUDA programming guide,
// "Compute Capabilities").
double sm_share(const DeviceShape& device, const LaunchEvent& launch);

}  // namespace gacer::regulator
