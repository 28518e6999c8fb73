// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects.
#include <algorithm>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/array_format.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

Outcome driver_resource(const cudaResourceDesc& in, CUDA_RESOURCE_DESC& out) {
  out = {};
  out.resType = static_cast<CUresourcetype>(in.resType);
  ArrayFormat format;
  switch (in.resType) {
    case cudaResourceTypeArray:
      out.res.array.hArray = driver_array(in.res.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      out.res.mipmap.hMipmappedArray = driver_mipmap(in.res.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      RT_TRY(array_format(in.res.linear.desc, format));
      out.res.linear = {device_address(in.res.linear.devPtr), format.format, format.channels,
                        in.res.linear.sizeInBytes};
      return cudaSuccess;
    case cudaResourceTypePitch2D:
      RT_TRY(array_format(in.res.pitch2D.desc, format));
      out.res.pitch2D = {device_address(in.res.pitch2D.devPtr),
                         format.format,
                         format.channels,
                         in.res.pitch2D.width,
                         in.res.pitch2D.height,
                         in.res.pitch2D.pitchInBytes};
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

Outcome runtime_resource(const CUDA_RESOURCE_DESC& in, cudaResourceDesc& out) {
  out = {};
  out.resType = static_cast<cudaResourceType>(in.resType);
  const auto& linear = in.res.linear;
  const auto& pitched = in.res.pitch2D;
  switch (in.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      out.res.array.array = reinterpret_cast<cudaArray_t>(in.res.array.hArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      out.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(in.res.mipmap.hMipmappedArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
      out.res.linear = {reinterpret_cast<void*>(linear.devPtr),
                        channel_desc({linear.format, linear.numChannels}), linear.sizeInBytes};
      return cudaSuccess;
    case CU_RESOURCE_TYPE_PITCH2D:
      out.res.pitch2D = {reinterpret_cast<void*>(pitched.devPtr),
                         channel_desc({pitched.format, pitched.numChannels}), pitched.width,
                         pitched.height, pitched.pitchInBytes};
      return cudaSuccess;
    default:
      return cudaErrorUnknown;
  }
}

// Whether a resource's elements are integers, which are read as such unless they are to be
// normalised.
Outcome holds_integers(const CUDA_RESOURCE_DESC& resource, bool& out) {
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  CUarray array = resource.res.array.hArray;
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) format = resource.res.linear.format;
  if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) format = resource.res.pitch2D.format;
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    RT_TRY(
        legacy_driver().cuMipmappedArrayGetLevel(&array, resource.res.mipmap.hMipmappedArray, 0));
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY ||
      resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    RT_TRY(legacy_driver().cuArray3DGetDescriptor(&descriptor, array));
    format = descriptor.Format;
  }
  out = format != CU_AD_FORMAT_FLOAT && format != CU_AD_FORMAT_HALF;
  return cudaSuccess;
}

unsigned texture_flags(const cudaTextureDesc& in, bool integers) {
  unsigned flags = 0;
  if (in.readMode == cudaReadModeElementType && integers) flags |= CU_TRSF_READ_AS_INTEGER;
  if (in.normalizedCoords != 0) flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (in.sRGB != 0) flags |= CU_TRSF_SRGB;
  if (in.disableTrilinearOptimization != 0) flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if (in.seamlessCubemap != 0) flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  return flags;
}

CUDA_TEXTURE_DESC driver_texture(const cudaTextureDesc& in, bool integers) {
  CUDA_TEXTURE_DESC out{};
  for (int i = 0; i < 3; ++i) out.addressMode[i] = static_cast<CUaddress_mode>(in.addressMode[i]);
  out.filterMode = static_cast<CUfilter_mode>(in.filterMode);
  out.flags = texture_flags(in, integers);
  out.maxAnisotropy = in.maxAnisotropy;
  out.mipmapFilterMode = static_cast<CUfilter_mode>(in.mipmapFilterMode);
  out.mipmapLevelBias = in.mipmapLevelBias;
  out.minMipmapLevelClamp = in.minMipmapLevelClamp;
  out.maxMipmapLevelClamp = in.maxMipmapLevelClamp;
  std::copy_n(in.borderColor, 4, out.borderColor);
  return out;
}

cudaTextureDesc runtime_texture(const CUDA_TEXTURE_DESC& in, bool integers) {
  cudaTextureDesc out{};
  for (int i = 0; i < 3; ++i)
    out.addressMode[i] = static_cast<cudaTextureAddressMode>(in.addressMode[i]);
  out.filterMode = static_cast<cudaTextureFilterMode>(in.filterMode);
  const bool normalised = integers && (in.flags & CU_TRSF_READ_AS_INTEGER) == 0;
  out.readMode = normalised ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  out.normalizedCoords = (in.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  out.sRGB = (in.flags & CU_TRSF_SRGB) != 0;
  out.disableTrilinearOptimization = (in.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
  out.seamlessCubemap = (in.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  out.maxAnisotropy = in.maxAnisotropy;
  out.mipmapFilterMode = static_cast<cudaTextureFilterMode>(in.mipmapFilterMode);
  out.mipmapLevelBias = in.mipmapLevelBias;
  out.minMipmapLevelClamp = in.minMipmapLevelClamp;
  out.maxMipmapLevelClamp = in.maxMipmapLevelClamp;
  std::copy_n(in.borderColor, 4, out.borderColor);
  return out;
}

}  // namespace

namespace impl {

Outcome cudaCreateTextureObject(const Driver& driver, cudaTextureObject_t* pTexObject,
                                const cudaResourceDesc* pResDesc, const cudaTextureDesc* pTexDesc,
                                const cudaResourceViewDesc* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr)
    return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC resource{};
  bool integers = false;
  RT_TRY(driver_resource(*pResDesc, resource));
  RT_TRY(holds_integers(resource, integers));
  const CUDA_TEXTURE_DESC texture = driver_texture(*pTexDesc, integers);
  return driver.cuTexObjectCreate(pTexObject, &resource, &texture,
                                  same_layout<CUDA_RESOURCE_VIEW_DESC>(pResViewDesc));
}
Outcome cudaDestroyTextureObject(const Driver& driver, cudaTextureObject_t texObject) {
  return driver.cuTexObjectDestroy(texObject);
}
Outcome cudaGetTextureObjectResourceDesc(const Driver& driver, cudaResourceDesc* pResDesc,
                                         cudaTextureObject_t texObject) {
  if (pResDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC resource{};
  RT_TRY(driver.cuTexObjectGetResourceDesc(&resource, texObject));
  return runtime_resource(resource, *pResDesc);
}
Outcome cudaGetTextureObjectTextureDesc(const Driver& driver, cudaTextureDesc* pTexDesc,
                                        cudaTextureObject_t texObject) {
  if (pTexDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_TEXTURE_DESC texture{};
  CUDA_RESOURCE_DESC resource{};
  bool integers = false;
  RT_TRY(driver.cuTexObjectGetTextureDesc(&texture, texObject));
  RT_TRY(driver.cuTexObjectGetResourceDesc(&resource, texObject));
  RT_TRY(holds_integers(resource, integers));
  *pTexDesc = runtime_texture(texture, integers);
  return cudaSuccess;
}
Outcome cudaGetTextureObjectResourceViewDesc(const Driver& driver,
                                             cudaResourceViewDesc* pResViewDesc,
                                             cudaTextureObject_t texObject) {
  return driver.cuTexObjectGetResourceViewDesc(same_layout<CUDA_RESOURCE_VIEW_DESC>(pResViewDesc),
                                               texObject);
}
Outcome cudaCreateSurfaceObject(const Driver& driver, cudaSurfaceObject_t* pSurfObject,
                                const cudaResourceDesc* pResDesc) {
  if (pSurfObject == nullptr || pResDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC resource{};
  RT_TRY(driver_resource(*pResDesc, resource));
  return driver.cuSurfObjectCreate(pSurfObject, &resource);
}
Outcome cudaDestroySurfaceObject(const Driver& driver, cudaSurfaceObject_t surfObject) {
  return driver.cuSurfObjectDestroy(surfObject);
}
Outcome cudaGetSurfaceObjectResourceDesc(const Driver& driver, cudaResourceDesc* pResDesc,
                                         cudaSurfaceObject_t surfObject) {
  if (pResDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC resource{};
  RT_TRY(driver.cuSurfObjectGetResourceDesc(&resource, surfObject));
  return runtime_resource(resource, *pResDesc);
}

}  // namespace impl
}  // namespace gacer::cudart
