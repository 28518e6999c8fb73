// SPDX-License-Identifier: Apache-2.0
// Identity of a module image and of a kernel in it, stable over processes and loads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gacer::interpose {

// Hash of an image as given to cuModuleLoadData and its kin: PTX text, an ELF cubin, a fat binary,
// or the wrapper that nvcc puts around one. Large images are sampled (ends and size), so that
// loading costs no more than microseconds. 0: NULL or of no known kind (its size cannot be known,
// so nothing of it is read).
uint64_t hash_image(const void* image);

// Of such an image; 0: NULL or of no known kind.
uint64_t image_bytes_of(const void* image);

uint64_t hash_bytes(const void* data, size_t bytes, uint64_t seed);

// Of a kernel: never 0.
uint64_t kernel_id_of(uint64_t image_hash, const char* name);

}  // namespace gacer::interpose
