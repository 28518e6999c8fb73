// SPDX-License-Identifier: Apache-2.0
// What a program may hand to the driver as a module image, and the PTX in it. Understood: PTX text,
// and fat binaries (wrapper 0x466243b1 or container 0xBA55ED50) whose PTX entries are plain, LZ4 or
// Zstandard compressed, as nvcc writes them since CUDA 11. Machine code is never run, so an image
// with nothing else is refused. The container layout is not documented; it was read off nvcc's
// output (tests/unit/simdriver builds some).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/result.h"

namespace gacer::simdriver {

// PTX for a device of compute capability `sm` (80 for 8.0) out of the image at `image`, whose size
// follows from its own headers or its terminating NUL, as in cuModuleLoadData. Error::code is a
// CUresult: CUDA_ERROR_NO_BINARY_FOR_GPU when there is no usable PTX, CUDA_ERROR_INVALID_IMAGE when
// it is no image at all.
Result<std::string> ptx_of_image(const void* image, int sm);

// The same for an image of known size (a file, cuLinkAddData): also refuses one that is cut short.
Result<std::string> ptx_of_bytes(std::span<const uint8_t> image, int sm);

// The same for the entries of a container.
Result<std::string> ptx_of_entries(std::span<const uint8_t> entries, int sm);

}  // namespace gacer::simdriver
