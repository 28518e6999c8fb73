// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/simdevice/cudart/array_format.h"
#include "runtime/simdevice/cudart/layout.h"

namespace gacer::cudart {
namespace {

// One side of a 3D copy, whichever it is.
struct Operand {
  CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
  cudaArray_t array = nullptr;
  cudaPitchedPtr pointer{};
  cudaPos position{};
};

Outcome set_source(const Operand& in, size_t element, CUDA_MEMCPY3D& out) {
  out.srcMemoryType = in.array != nullptr ? CU_MEMORYTYPE_ARRAY : in.type;
  out.srcXInBytes = in.position.x * element;
  out.srcY = in.position.y;
  out.srcZ = in.position.z;
  out.srcArray = driver_array(in.array);
  out.srcPitch = in.pointer.pitch;
  out.srcHeight = in.pointer.ysize;
  if (out.srcMemoryType == CU_MEMORYTYPE_HOST)
    out.srcHost = in.pointer.ptr;
  else
    out.srcDevice = device_address(in.pointer.ptr);
  return cudaSuccess;
}

Outcome set_destination(const Operand& in, size_t element, CUDA_MEMCPY3D& out) {
  out.dstMemoryType = in.array != nullptr ? CU_MEMORYTYPE_ARRAY : in.type;
  out.dstXInBytes = in.position.x * element;
  out.dstY = in.position.y;
  out.dstZ = in.position.z;
  out.dstArray = driver_array(in.array);
  out.dstPitch = in.pointer.pitch;
  out.dstHeight = in.pointer.ysize;
  if (out.dstMemoryType == CU_MEMORYTYPE_HOST)
    out.dstHost = in.pointer.ptr;
  else
    out.dstDevice = device_address(in.pointer.ptr);
  return cudaSuccess;
}

cudaMemcpyKind kind_of(CUmemorytype source, CUmemorytype destination) {
  const bool from_host = source == CU_MEMORYTYPE_HOST, to_host = destination == CU_MEMORYTYPE_HOST;
  if (source == CU_MEMORYTYPE_UNIFIED || destination == CU_MEMORYTYPE_UNIFIED)
    return cudaMemcpyDefault;
  if (from_host) return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

}  // namespace

Outcome sides_of(cudaMemcpyKind kind, Sides& out) {
  constexpr CUmemorytype kHost = CU_MEMORYTYPE_HOST, kDevice = CU_MEMORYTYPE_DEVICE;
  switch (kind) {
    case cudaMemcpyHostToHost:
      out = {kHost, kHost};
      return cudaSuccess;
    case cudaMemcpyHostToDevice:
      out = {kHost, kDevice};
      return cudaSuccess;
    case cudaMemcpyDeviceToHost:
      out = {kDevice, kHost};
      return cudaSuccess;
    case cudaMemcpyDeviceToDevice:
      out = {kDevice, kDevice};
      return cudaSuccess;
    case cudaMemcpyDefault:
      out = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};
      return cudaSuccess;
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

Outcome element_bytes(cudaArray_const_t array, size_t& out) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  RT_TRY(legacy_driver().cuArray3DGetDescriptor(&desc, driver_array(array)));
  out = format_bytes(desc.Format) * desc.NumChannels;
  return cudaSuccess;
}

// With an array on either side the extent's width and the array's position count elements.
Outcome driver_copy(const cudaMemcpy3DParms& in, CUDA_MEMCPY3D& out) {
  out = {};
  Sides sides{};
  RT_TRY(sides_of(in.kind, sides));
  const bool two_sources = (in.srcArray != nullptr) == (in.srcPtr.ptr != nullptr);
  const bool two_destinations = (in.dstArray != nullptr) == (in.dstPtr.ptr != nullptr);
  if (two_sources || two_destinations) return cudaErrorInvalidValue;
  size_t source_element = 1, destination_element = 1;
  if (in.srcArray != nullptr) RT_TRY(element_bytes(in.srcArray, source_element));
  if (in.dstArray != nullptr) RT_TRY(element_bytes(in.dstArray, destination_element));
  RT_TRY(set_source({sides.source, in.srcArray, in.srcPtr, in.srcPos}, source_element, out));
  RT_TRY(set_destination({sides.destination, in.dstArray, in.dstPtr, in.dstPos},
                         destination_element, out));
  out.WidthInBytes = in.extent.width * std::max(source_element, destination_element);
  out.Height = in.extent.height;
  out.Depth = in.extent.depth;
  return cudaSuccess;
}

cudaMemcpy3DParms runtime_copy(const CUDA_MEMCPY3D& in) {
  cudaMemcpy3DParms out{};
  size_t source_element = 1, destination_element = 1;
  const auto address = [](CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
  };
  if (in.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
    out.srcArray = reinterpret_cast<cudaArray_t>(in.srcArray);
    (void)element_bytes(out.srcArray, source_element);
  } else {
    out.srcPtr = {address(in.srcMemoryType, in.srcHost, in.srcDevice), in.srcPitch, in.WidthInBytes,
                  in.srcHeight};
  }
  if (in.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    out.dstArray = reinterpret_cast<cudaArray_t>(in.dstArray);
    (void)element_bytes(out.dstArray, destination_element);
  } else {
    out.dstPtr = {address(in.dstMemoryType, in.dstHost, in.dstDevice), in.dstPitch, in.WidthInBytes,
                  in.dstHeight};
  }
  out.srcPos = {in.srcXInBytes / source_element, in.srcY, in.srcZ};
  out.dstPos = {in.dstXInBytes / destination_element, in.dstY, in.dstZ};
  out.extent = {in.WidthInBytes / std::max(source_element, destination_element), in.Height,
                in.Depth};
  out.kind = kind_of(in.srcMemoryType, in.dstMemoryType);
  return out;
}

Outcome linear_copy(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                    CUDA_MEMCPY3D& out) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(src), count, count, 1};
  copy.dstPtr = {dst, count, count, 1};
  copy.extent = {count, 1, 1};
  copy.kind = kind;
  return driver_copy(copy, out);
}

Outcome copy_now(const Driver& driver, void* dst, const void* src, size_t count,
                 cudaMemcpyKind kind) {
  if (count == 0 && kind <= cudaMemcpyDefault) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return driver.cuMemcpyHtoD(device_address(dst), src, count);
    case cudaMemcpyDeviceToHost:
      return driver.cuMemcpyDtoH(dst, device_address(src), count);
    case cudaMemcpyDeviceToDevice:
      return driver.cuMemcpyDtoD(device_address(dst), device_address(src), count);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return driver.cuMemcpy(device_address(dst), device_address(src), count);
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

Outcome copy_on(const Driver& driver, void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                cudaStream_t stream) {
  if (count == 0 && kind <= cudaMemcpyDefault) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return driver.cuMemcpyHtoDAsync(device_address(dst), src, count, stream);
    case cudaMemcpyDeviceToHost:
      return driver.cuMemcpyDtoHAsync(dst, device_address(src), count, stream);
    case cudaMemcpyDeviceToDevice:
      return driver.cuMemcpyDtoDAsync(device_address(dst), device_address(src), count, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return driver.cuMemcpyAsync(device_address(dst), device_address(src), count, stream);
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

}  // namespace gacer::cudart
