// SPDX-License-Identifier: Apache-2.0
// A module whose image has no PTX: it has names, parameters, registers, shared memory and
// variables, and its launches take time (kernel_runner), but they compute nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/result.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

// Error::code: CUresult (no binary for this device, or an image that is broken).
Result<std::shared_ptr<Program>> machine_code_program(std::span<const uint8_t> image,
                                                      int target_sm);

}  // namespace gacer::simdevice
