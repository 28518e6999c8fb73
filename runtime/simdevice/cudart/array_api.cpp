// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/array_format.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/stub.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

Outcome array_descriptor(const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags,
                         CUDA_ARRAY3D_DESCRIPTOR& out) {
  if (desc == nullptr) return cudaErrorInvalidValue;
  ArrayFormat format;
  RT_TRY(array_format(*desc, format));
  out = {};
  out.Width = extent.width;
  out.Height = extent.height;
  out.Depth = extent.depth;
  out.Format = format.format;
  out.NumChannels = format.channels;
  out.Flags = flags;
  return cudaSuccess;
}

}  // namespace

namespace impl {

Outcome cudaMalloc3DArray(const Driver& driver, cudaArray_t* array,
                          const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  RT_TRY(array_descriptor(desc, extent, flags, descriptor));
  return driver.cuArray3DCreate(reinterpret_cast<CUarray*>(array), &descriptor);
}
Outcome cudaMallocArray(const Driver& driver, cudaArray_t* array, const cudaChannelFormatDesc* desc,
                        size_t width, size_t height, unsigned flags) {
  return cudaMalloc3DArray(driver, array, desc, {width, height, 0}, flags);
}
Outcome cudaMallocMipmappedArray(const Driver& driver, cudaMipmappedArray_t* mipmappedArray,
                                 const cudaChannelFormatDesc* desc, cudaExtent extent,
                                 unsigned numLevels, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  RT_TRY(array_descriptor(desc, extent, flags, descriptor));
  return driver.cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(mipmappedArray),
                                       &descriptor, numLevels);
}
Outcome cudaGetMipmappedArrayLevel(const Driver& driver, cudaArray_t* levelArray,
                                   cudaMipmappedArray_const_t mipmappedArray, unsigned level) {
  return driver.cuMipmappedArrayGetLevel(reinterpret_cast<CUarray*>(levelArray),
                                         driver_mipmap(mipmappedArray), level);
}
Outcome cudaFreeArray(const Driver& driver, cudaArray_t array) {
  if (array == nullptr) return cudaSuccess;
  return driver.cuArrayDestroy(driver_array(array));
}
Outcome cudaFreeMipmappedArray(const Driver& driver, cudaMipmappedArray_t mipmappedArray) {
  if (mipmappedArray == nullptr) return cudaSuccess;
  return driver.cuMipmappedArrayDestroy(driver_mipmap(mipmappedArray));
}
Outcome cudaArrayGetInfo(const Driver& driver, cudaChannelFormatDesc* desc, cudaExtent* extent,
                         unsigned* flags, cudaArray_t array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  RT_TRY(driver.cuArray3DGetDescriptor(&descriptor, driver_array(array)));
  if (desc != nullptr) *desc = channel_desc({descriptor.Format, descriptor.NumChannels});
  if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
  if (flags != nullptr) *flags = descriptor.Flags;
  return cudaSuccess;
}
Outcome cudaGetChannelDesc(const Driver& driver, cudaChannelFormatDesc* desc,
                           cudaArray_const_t array) {
  if (desc == nullptr) return cudaErrorInvalidValue;
  return cudaArrayGetInfo(driver, desc, nullptr, nullptr, const_cast<cudaArray_t>(array));
}
Outcome cudaArrayGetPlane(const Driver& driver, cudaArray_t* pPlaneArray, cudaArray_t hArray,
                          unsigned planeIdx) {
  return driver.cuArrayGetPlane(reinterpret_cast<CUarray*>(pPlaneArray), driver_array(hArray),
                                planeIdx);
}
Outcome cudaArrayGetMemoryRequirements(const Driver& driver,
                                       cudaArrayMemoryRequirements* memoryRequirements,
                                       cudaArray_t array, int device) {
  RT_TRY(check_device(device));
  return driver.cuArrayGetMemoryRequirements(
      same_layout<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), driver_array(array), device);
}
Outcome cudaMipmappedArrayGetMemoryRequirements(const Driver& driver,
                                                cudaArrayMemoryRequirements* memoryRequirements,
                                                cudaMipmappedArray_t mipmap, int device) {
  RT_TRY(check_device(device));
  return driver.cuMipmappedArrayGetMemoryRequirements(
      same_layout<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), driver_mipmap(mipmap),
      device);
}
Outcome cudaArrayGetSparseProperties(const Driver& driver,
                                     cudaArraySparseProperties* sparseProperties,
                                     cudaArray_t array) {
  return driver.cuArrayGetSparseProperties(
      same_layout<CUDA_ARRAY_SPARSE_PROPERTIES>(sparseProperties), driver_array(array));
}
Outcome cudaMipmappedArrayGetSparseProperties(const Driver& driver,
                                              cudaArraySparseProperties* sparseProperties,
                                              cudaMipmappedArray_t mipmap) {
  return driver.cuMipmappedArrayGetSparseProperties(
      same_layout<CUDA_ARRAY_SPARSE_PROPERTIES>(sparseProperties), driver_mipmap(mipmap));
}
Outcome cudaDeviceGetTexture1DLinearMaxWidth(const Driver& driver, size_t* maxWidthInElements,
                                             const cudaChannelFormatDesc* fmtDesc, int device) {
  RT_TRY(check_device(device));
  if (fmtDesc == nullptr) return cudaErrorInvalidValue;
  ArrayFormat format;
  RT_TRY(array_format(*fmtDesc, format));
  return driver.cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format.format,
                                                   format.channels, device);
}

}  // namespace impl
}  // namespace gacer::cudart

GACER_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                         cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
GACER_ALSO_12(cudaCreateChannelDesc)
