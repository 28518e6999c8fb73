// SPDX-License-Identifier: Apache-2.0
// The reference-counted context that a device has in each process. Precondition of both: the device
// is visible.
#pragma once

#include <memory>

#include "runtime/simdevice/driver/context.h"

namespace gacer::simdriver {

CUresult retain_primary(CUdevice device, std::shared_ptr<Context>& out);
// CUDA_ERROR_INVALID_CONTEXT: nobody holds it.
CUresult release_primary(CUdevice device);

}  // namespace gacer::simdriver
