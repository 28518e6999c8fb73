// SPDX-License-Identifier: Apache-2.0
// Copies: from the many entry points to one CopyWork.
#pragma once

#include "runtime/simdevice/driver/memory.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

// How an address of a copy may be understood.
enum class PointerRole {
  kDevice,   // must be memory the driver knows
  kHost,     // any host memory, or memory the driver knows
  kUnified,  // the same; what it is follows from the address
  kArray,    // inside an array, checked already
};

struct CopySide {
  uint64_t address = 0;
  PointerRole role = PointerRole::kUnified;
  uint64_t pitch = 0;
  uint64_t slice_pitch = 0;
};

struct CopyExtent {
  uint64_t width_bytes = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  bool empty() const { return width_bytes == 0 || height == 0 || depth == 0; }
};

// Checks both sides against `memory`. CUDA_ERROR_INVALID_VALUE: a side reaches beyond its
// allocation.
CUresult make_copy(const MemoryMap& memory, const CopySide& dst, const CopySide& src,
                   const CopyExtent& extent, CopyWork& out);

// Bytes of one row of an array from `offset` on. CUDA_ERROR_INVALID_HANDLE: no such array.
CUresult array_side(CUarray array, uint64_t offset, uint64_t bytes, CopySide& out);

// The copy a CUDA_MEMCPY3D describes.
CUresult make_copy_3d(const MemoryMap& memory, const CUDA_MEMCPY3D& params, CopyWork& out);
// A CUDA_MEMCPY3D that describes `work`.
CUDA_MEMCPY3D describe_copy(const CopyWork& work);

}  // namespace gacer::simdriver
