// SPDX-License-Identifier: Apache-2.0
// Copies that name device variables.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

// Address of `count` bytes from `offset` on of a device variable, for a copy to or from it.
Outcome symbol_as_destination(const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                              void*& out);
Outcome symbol_as_source(const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                         void*& out);

}  // namespace gacer::cudart
