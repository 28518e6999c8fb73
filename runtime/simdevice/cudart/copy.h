// SPDX-License-Identifier: Apache-2.0
// Copies: the runtime's direction and operands as the driver's.
#pragma once

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

// Where the two sides of a copy of this direction are.
struct Sides {
  CUmemorytype source, destination;
};
// cudaErrorInvalidMemcpyDirection for what is no direction.
Outcome sides_of(cudaMemcpyKind kind, Sides& out);

// The driver's form of a 3D copy with arrays, pitched pointers and positions.
Outcome driver_copy(const cudaMemcpy3DParms& in, CUDA_MEMCPY3D& out);
// And back, for graph nodes.
cudaMemcpy3DParms runtime_copy(const CUDA_MEMCPY3D& in);

// One row of `count` bytes.
Outcome linear_copy(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                    CUDA_MEMCPY3D& out);

// Bytes of an array's element.
Outcome element_bytes(cudaArray_const_t array, size_t& out);

// Copies now, or on a stream.
Outcome copy_now(const Driver& driver, void* dst, const void* src, size_t count,
                 cudaMemcpyKind kind);
Outcome copy_on(const Driver& driver, void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                cudaStream_t stream);

}  // namespace gacer::cudart
