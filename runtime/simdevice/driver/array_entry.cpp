// SPDX-License-Identifier: Apache-2.0
// cuArray*, cuMipmappedArray*
#include "runtime/simdevice/driver/array.h"

#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"

using namespace gacer::simdriver;

namespace {

constexpr unsigned kKnownFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                 CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                                 CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT;
constexpr unsigned kUnsupportedFlags =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

// Largest extents of one kind of array; 0: that extent must be 0.
struct Limits {
  CUdevice_attribute width, height, depth;
};
constexpr auto kMustBeZero = static_cast<CUdevice_attribute>(0);

#define SIM_TEXTURE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name
#define SIM_SURFACE(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE##name

// The table "valid extents" of cuArray3DCreate.
Limits limits_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool surface = (d.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0;
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const auto pick = [surface](CUdevice_attribute texture, CUdevice_attribute other) {
    return surface ? other : texture;
  };
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    const auto width =
        layered ? pick(SIM_TEXTURE(CUBEMAP_LAYERED_WIDTH), SIM_SURFACE(CUBEMAP_LAYERED_WIDTH))
                : pick(SIM_TEXTURE(CUBEMAP_WIDTH), SIM_SURFACE(CUBEMAP_WIDTH));
    return {width, width, SIM_TEXTURE(CUBEMAP_LAYERED_LAYERS)};
  }
  if (layered && d.Height == 0)
    return {pick(SIM_TEXTURE(1D_LAYERED_WIDTH), SIM_SURFACE(1D_LAYERED_WIDTH)), kMustBeZero,
            pick(SIM_TEXTURE(1D_LAYERED_LAYERS), SIM_SURFACE(1D_LAYERED_LAYERS))};
  if (layered)
    return {pick(SIM_TEXTURE(2D_LAYERED_WIDTH), SIM_SURFACE(2D_LAYERED_WIDTH)),
            pick(SIM_TEXTURE(2D_LAYERED_HEIGHT), SIM_SURFACE(2D_LAYERED_HEIGHT)),
            pick(SIM_TEXTURE(2D_LAYERED_LAYERS), SIM_SURFACE(2D_LAYERED_LAYERS))};
  if (d.Depth != 0)
    return {pick(SIM_TEXTURE(3D_WIDTH), SIM_SURFACE(3D_WIDTH)),
            pick(SIM_TEXTURE(3D_HEIGHT), SIM_SURFACE(3D_HEIGHT)),
            pick(SIM_TEXTURE(3D_DEPTH), SIM_SURFACE(3D_DEPTH))};
  if (d.Height == 0)
    return {pick(SIM_TEXTURE(1D_WIDTH), SIM_SURFACE(1D_WIDTH)), kMustBeZero, kMustBeZero};
  if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0)
    return {SIM_TEXTURE(2D_GATHER_WIDTH), SIM_TEXTURE(2D_GATHER_HEIGHT), kMustBeZero};
  return {pick(SIM_TEXTURE(2D_WIDTH), SIM_SURFACE(2D_WIDTH)),
          pick(SIM_TEXTURE(2D_HEIGHT), SIM_SURFACE(2D_HEIGHT)), kMustBeZero};
}

bool extent_fits(size_t extent, CUdevice_attribute limit) {
  if (limit == kMustBeZero) return extent == 0;
  int most = 0;
  device_attribute(Driver::get().spec(), 0, false, limit, most);
  return extent > 0 && extent <= static_cast<size_t>(most);
}

bool extents_fit(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const Limits limits = limits_of(d);
  if (extent_fits(d.Width, limits.width) && extent_fits(d.Height, limits.height) &&
      extent_fits(d.Depth, limits.depth))
    return true;
  // A 3-D array may be flatter and deeper.
  return limits.depth == SIM_TEXTURE(3D_DEPTH) &&
         extent_fits(d.Width, SIM_TEXTURE(3D_WIDTH_ALTERNATE)) &&
         extent_fits(d.Height, SIM_TEXTURE(3D_HEIGHT_ALTERNATE)) &&
         extent_fits(d.Depth, SIM_TEXTURE(3D_DEPTH_ALTERNATE));
}

bool is_cubemap_wrong(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) == 0) return false;
  const bool layers = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0 ? d.Depth % 6 == 0 : d.Depth == 6;
  return d.Width != d.Height || !layers;
}

CUresult check_descriptor(const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& d = *descriptor;
  if ((d.Flags & kUnsupportedFlags) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const bool gather_in_space = (d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 && d.Depth != 0;
  if ((d.Flags & ~kKnownFlags) != 0 || gather_in_space || is_cubemap_wrong(d) || !extents_fit(d))
    return CUDA_ERROR_INVALID_VALUE;
  return element_bytes(d.Format, d.NumChannels) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

std::shared_ptr<Array> make_array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  auto array = std::make_shared<Array>();
  array->descriptor = descriptor;
  array->shape = shape_of(descriptor, *element_bytes(descriptor.Format, descriptor.NumChannels));
  return array;
}

CUresult create_array(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_descriptor(descriptor));
  SIM_TRY(refuse_during_capture());
  auto array = make_array(*descriptor);
  SIM_TRY(take_device_memory(*context, array->shape.bytes(), array->memory));
  array->address = array->memory.base;
  *out = array_tables().arrays.add(std::move(array));
  return CUDA_SUCCESS;
}

CUresult find_array(CUarray handle, std::shared_ptr<Array>& out) {
  SIM_TRY(Driver::get().ready());
  out = array_tables().arrays.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult find_mipmap(CUmipmappedArray handle, std::shared_ptr<MipmappedArray>& out) {
  SIM_TRY(Driver::get().ready());
  out = array_tables().mipmaps.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Work in flight may still use the memory.
CUresult give_back(const Allocation& memory) {
  SIM_TRY(refuse_during_capture());
  SIM_TRY(synchronize_all_contexts());
  return give_device_memory(memory);
}

}  // namespace

CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return create_array(out, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR full{descriptor->Width,  descriptor->Height,      0,
                                     descriptor->Format, descriptor->NumChannels, 0};
  return create_array(out, &full);
}

CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return create_array(out, descriptor);
}

CUresult cuArrayDestroy(CUarray handle) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  if (array->level) return CUDA_ERROR_INVALID_HANDLE;  // goes with its mipmapped array
  SIM_TRY(give_back(array->memory));
  array_tables().arrays.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  *out = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = array->descriptor;
  return CUDA_SUCCESS;
}

// Only arrays with deferred mapping, which the device does not have, have requirements.
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray handle, CUdevice) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*,
                                               CUmipmappedArray handle, CUdevice) {
  std::shared_ptr<MipmappedArray> array;
  SIM_TRY(find_mipmap(handle, array));
  return CUDA_ERROR_INVALID_VALUE;
}

// Nor are there sparse arrays, nor such with several planes.
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES*, CUarray handle) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES*,
                                             CUmipmappedArray handle) {
  std::shared_ptr<MipmappedArray> array;
  SIM_TRY(find_mipmap(handle, array));
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuArrayGetPlane(CUarray*, CUarray handle, unsigned) {
  std::shared_ptr<Array> array;
  SIM_TRY(find_array(handle, array));
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned levels) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_descriptor(descriptor));
  SIM_TRY(refuse_during_capture());
  auto mipmap = std::make_shared<MipmappedArray>();
  mipmap->descriptor = *descriptor;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < level_count(*descriptor, levels); ++i) {
    mipmap->levels.push_back(make_array(level_descriptor(*descriptor, i)));
    mipmap->levels.back()->level = true;
    mipmap->levels.back()->address = bytes;
    bytes += mipmap->levels.back()->shape.bytes();
  }
  SIM_TRY(take_device_memory(*context, bytes, mipmap->memory));
  for (const auto& level : mipmap->levels) {
    level->address += mipmap->memory.base;
    level->memory.context_id = context->id();
    array_tables().arrays.add(level);
  }
  *out = array_tables().mipmaps.add(std::move(mipmap));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned level) {
  std::shared_ptr<MipmappedArray> mipmap;
  SIM_TRY(find_mipmap(handle, mipmap));
  if (out == nullptr || level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *out = HandleTable<CUarray, Array>::to_handle(mipmap->levels[level].get());
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  std::shared_ptr<MipmappedArray> mipmap;
  SIM_TRY(find_mipmap(handle, mipmap));
  SIM_TRY(give_back(mipmap->memory));
  for (const auto& level : mipmap->levels)
    array_tables().arrays.remove(HandleTable<CUarray, Array>::to_handle(level.get()));
  array_tables().mipmaps.remove(handle);
  return CUDA_SUCCESS;
}
