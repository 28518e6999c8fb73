// SPDX-License-Identifier: Apache-2.0
// Bytes that arrays and mipmapped arrays take. The driver tells its own number only for arrays with
// deferred mapping (cuArrayGetMemoryRequirements), which have no memory of their own; where it
// answers for others, that number is used. Else the number here is an estimate: element size by
// format and channels, rows padded to 512 bytes (the texture pitch of all GPUs so far),
// block-compressed formats by 4x4 block, YUV formats by plane. Hardware tiling may take more. The
// same number is given back.
#pragma once

#include <cstdint>

#include "interpose/cuda_api.h"

namespace gacer::interpose {

// 0 in Height and Depth mean 1, as for the driver. Saturates. 0: no memory of its own (deferred
// mapping, sparse).
uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape);
// All levels.
uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels);

template <typename Descriptor>
CUDA_ARRAY3D_DESCRIPTOR flat_shape(const Descriptor& shape) {
  return {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0};
}
CUDA_ARRAY3D_DESCRIPTOR wide_shape(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape);

}  // namespace gacer::interpose
