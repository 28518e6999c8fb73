// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/copy.h"

#include "runtime/simdevice/driver/array.h"

namespace gacer::simdriver {
namespace {

using simdevice::CopyKind;

struct Place {
  bool device = false;
  bool pageable = false;
};

// Bytes from the first to the last one touched.
uint64_t span_bytes(const CopySide& side, const CopyExtent& extent) {
  return (extent.depth - 1) * side.slice_pitch + (extent.height - 1) * side.pitch +
         extent.width_bytes;
}

CUresult locate(const MemoryMap& memory, const CopySide& side, const CopyExtent& extent,
                Place& out) {
  if (side.address == 0) return CUDA_ERROR_INVALID_VALUE;
  if (side.role == PointerRole::kArray) {
    out = {true, false};
    return CUDA_SUCCESS;
  }
  const auto allocation = memory.find(side.address, span_bytes(side, extent));
  if (allocation) {
    if (!allocation->accessible) return CUDA_ERROR_INVALID_VALUE;
    out = {allocation->on_device(), false};
    return CUDA_SUCCESS;
  }
  if (side.role == PointerRole::kDevice || memory.in_device_range(side.address))
    return CUDA_ERROR_INVALID_VALUE;
  out = {false, true};
  return CUDA_SUCCESS;
}

bool pitches_fit(const CopySide& side, const CopyExtent& extent) {
  if (extent.height > 1 && side.pitch < extent.width_bytes) return false;
  return extent.depth == 1 || side.slice_pitch >= side.pitch * extent.height;
}

CopyKind kind_of(const Place& dst, const Place& src) {
  if (dst.device) return src.device ? CopyKind::kDtoD : CopyKind::kHtoD;
  return src.device ? CopyKind::kDtoH : CopyKind::kHtoH;
}

struct Side3d {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x_bytes, y, z;
  size_t pitch, height;
};

bool inside(size_t from, size_t count, size_t limit) {
  return from <= limit && count <= limit - from;
}

CUresult to_array_side(const Side3d& from, const CopyExtent& extent, CopySide& out) {
  const auto array = array_tables().arrays.find(from.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const ArrayShape& shape = array->shape;
  if (!inside(from.x_bytes, extent.width_bytes, shape.row_bytes) ||
      !inside(from.y, extent.height, shape.rows) || !inside(from.z, extent.depth, shape.slices) ||
      from.x_bytes % shape.element_bytes != 0 || extent.width_bytes % shape.element_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  out = {array->address + from.z * shape.slice_pitch() + from.y * shape.pitch + from.x_bytes,
         PointerRole::kArray, shape.pitch, shape.slice_pitch()};
  return CUDA_SUCCESS;
}

CUresult to_side(const Side3d& from, const CopyExtent& extent, CopySide& out) {
  switch (from.type) {
    case CU_MEMORYTYPE_HOST:
      out = {reinterpret_cast<uint64_t>(from.host), PointerRole::kHost, 0, 0};
      break;
    case CU_MEMORYTYPE_DEVICE:
      out = {from.device, PointerRole::kDevice, 0, 0};
      break;
    case CU_MEMORYTYPE_UNIFIED:
      out = {from.device, PointerRole::kUnified, 0, 0};
      break;
    case CU_MEMORYTYPE_ARRAY:
      return to_array_side(from, extent, out);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  // A pitch of 0 is allowed for one row, a height of 0 for one slice.
  const size_t pitch = from.pitch != 0 ? from.pitch : from.x_bytes + extent.width_bytes;
  const size_t height = from.height != 0 ? from.height : from.y + extent.height;
  if (from.x_bytes + extent.width_bytes > pitch && (extent.height > 1 || from.y > 0))
    return CUDA_ERROR_INVALID_VALUE;
  out.pitch = pitch;
  out.slice_pitch = pitch * height;
  out.address += from.z * out.slice_pitch + from.y * pitch + from.x_bytes;
  return CUDA_SUCCESS;
}

void describe_side(bool device, uint64_t address, CUmemorytype& type, void const*& host,
                   CUdeviceptr& pointer) {
  type = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  host = device ? nullptr : reinterpret_cast<void*>(address);
  pointer = device ? address : 0;
}

}  // namespace

CUresult make_copy(const MemoryMap& memory, const CopySide& dst, const CopySide& src,
                   const CopyExtent& extent, CopyWork& out) {
  if (!pitches_fit(dst, extent) || !pitches_fit(src, extent)) return CUDA_ERROR_INVALID_VALUE;
  Place to;
  Place from;
  SIM_TRY(locate(memory, dst, extent, to));
  SIM_TRY(locate(memory, src, extent, from));
  out.kind = kind_of(to, from);
  out.pageable = to.pageable || from.pageable;
  out.dst = dst.address;
  out.src = src.address;
  out.width_bytes = extent.width_bytes;
  out.height = extent.height;
  out.depth = extent.depth;
  out.dst_pitch = dst.pitch;
  out.src_pitch = src.pitch;
  out.dst_slice_pitch = dst.slice_pitch;
  out.src_slice_pitch = src.slice_pitch;
  return CUDA_SUCCESS;
}

CUresult make_copy_3d(const MemoryMap& memory, const CUDA_MEMCPY3D& p, CopyWork& out) {
  const CopyExtent extent{p.WidthInBytes, p.Height, p.Depth};
  if (extent.empty()) {
    out.width_bytes = 0;
    return CUDA_SUCCESS;
  }
  CopySide dst;
  CopySide src;
  SIM_TRY(to_side({p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY,
                   p.dstZ, p.dstPitch, p.dstHeight},
                  extent, dst));
  SIM_TRY(to_side({p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY,
                   p.srcZ, p.srcPitch, p.srcHeight},
                  extent, src));
  SIM_TRY(make_copy(memory, dst, src, extent, out));
  if (dst.role == PointerRole::kArray || src.role == PointerRole::kArray)
    out.description = std::make_shared<const CUDA_MEMCPY3D>(p);
  return CUDA_SUCCESS;
}

CUresult array_side(CUarray array, uint64_t offset, uint64_t bytes, CopySide& out) {
  Side3d side{};
  side.array = array;
  side.x_bytes = offset;
  return to_array_side(side, {bytes, 1, 1}, out);
}

CUDA_MEMCPY3D describe_copy(const CopyWork& work) {
  if (work.description != nullptr) return *work.description;
  CUDA_MEMCPY3D p{};
  const bool to_device = work.kind == CopyKind::kHtoD || work.kind == CopyKind::kDtoD;
  const bool from_device = work.kind == CopyKind::kDtoH || work.kind == CopyKind::kDtoD;
  const void* dst_host = nullptr;
  describe_side(to_device, work.dst, p.dstMemoryType, dst_host, p.dstDevice);
  describe_side(from_device, work.src, p.srcMemoryType, p.srcHost, p.srcDevice);
  p.dstHost = const_cast<void*>(dst_host);
  p.WidthInBytes = work.width_bytes;
  p.Height = work.height;
  p.Depth = work.depth;
  p.dstPitch = work.dst_pitch;
  p.srcPitch = work.src_pitch;
  p.dstHeight = work.dst_pitch == 0 ? work.height : work.dst_slice_pitch / work.dst_pitch;
  p.srcHeight = work.src_pitch == 0 ? work.height : work.src_slice_pitch / work.src_pitch;
  return p;
}

}  // namespace gacer::simdriver
