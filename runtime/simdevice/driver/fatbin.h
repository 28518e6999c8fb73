// SPDX-License-Identifier: Apache-2.0
// What a program may hand to the driver as a module image, and what the device takes out of it: PTX
// text, or machine code (an ELF image) where there is no PTX. Understood: PTX text, machine code,
// and fat binaries (wrapper 0x466243b1 or container 0xBA55ED50), plain, LZ4 or Zstandard
// compressed, as nvcc writes them since CUDA 11. Of several images the newest PTX that the device
// can run is taken, else the newest machine code; LTO-IR is for nvJitLink and passed over. A
// wrapper of a program that nvcc linked (-rdc=true) leads to the parts it was linked from: their
// PTX is linked anew. The container layout is not documented; it was read off nvcc's output
// (tests/unit/simdriver).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::simdriver {

// The image at `image` for a device of compute capability `sm` (80 for 8.0); its size follows from
// its own headers or its terminating NUL, as in cuModuleLoadData. Error::code is a CUresult:
// CUDA_ERROR_NO_BINARY_FOR_GPU when there is nothing for this device, CUDA_ERROR_INVALID_IMAGE when
// it is no image at all, CUDA_ERROR_JIT_COMPILER_NOT_FOUND when there is LTO-IR only.
Result<std::string> image_in_memory(const void* image, int sm);

// The same for an image of known size (a file, cuLinkAddData): also refuses one that is cut short.
Result<std::string> image_in_bytes(std::span<const uint8_t> image, int sm);

// The same for the entries of a container.
Result<std::string> image_of_entries(std::span<const uint8_t> entries, int sm);

// One image of each container in `section` (of an object file: linking puts several behind each
// other).
Result<std::vector<std::string>> images_of_section(std::span<const uint8_t> section, int sm);

inline bool is_machine_code(const std::string& image) {
  return image.substr(0, 4) ==
         "\x7f"
         "ELF";
}

}  // namespace gacer::simdriver
