// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: device memory with a shape that copies by handle, textures and surfaces reach. Kept
// row by row. No server here: array_entry.cpp takes the memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/handles.h"
#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

struct ArrayShape {
  uint64_t element_bytes = 0;
  uint64_t row_bytes = 0;  // without padding
  uint64_t pitch = 0;
  uint64_t rows = 1;    // of a slice
  uint64_t slices = 1;  // of a 3-D array, or layers
  uint64_t slice_pitch() const { return pitch * rows; }
  uint64_t bytes() const { return slice_pitch() * slices; }
};

struct Array {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  ArrayShape shape;
  uint64_t address = 0;
  Allocation memory;   // of an array of its own
  bool level = false;  // of a mipmapped array, which owns the memory
};

struct MipmappedArray {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  std::vector<std::shared_ptr<Array>> levels;
  Allocation memory;
};

// Bytes of an element; nullopt: no such format and number of channels, or one that is not
// simulated (planes, compressed blocks).
std::optional<uint64_t> element_bytes(CUarray_format format, unsigned channels);
ArrayShape shape_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, uint64_t element_bytes);

// The descriptor of a level; extents never fall below 1, layers stay.
CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned level);
// `wanted` clamped to [1, 1 + floor(log2(largest extent))].
unsigned level_count(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned wanted);

struct ArrayTables {
  HandleTable<CUarray, Array> arrays;
  HandleTable<CUmipmappedArray, MipmappedArray> mipmaps;
};
ArrayTables& array_tables();

// Forgets the arrays of a context whose memory goes with it, and its texture and surface objects.
void forget_arrays_of(uint32_t context_id);

}  // namespace gacer::simdriver
