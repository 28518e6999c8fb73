// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/array.h"

#include <algorithm>
#include <bit>

#include "runtime/simdevice/driver/texture.h"

namespace gacer::simdriver {
namespace {

constexpr uint64_t kPitchBytes = 512;  // as CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT

struct Format {
  uint64_t component_bytes;
  unsigned channels;  // 0: 1, 2 or 4
};

std::optional<Format> format_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return Format{1, 0};
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return Format{2, 0};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return Format{4, 0};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return Format{1, 1};
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
      return Format{1, 2};
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return Format{1, 4};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return Format{2, 1};
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
      return Format{2, 2};
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return Format{2, 4};
    default:
      return std::nullopt;
  }
}

size_t halved(size_t extent, unsigned level) {
  return extent == 0 ? 0 : std::max<size_t>(extent >> level, 1);
}

bool is_layered(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return (descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
}

}  // namespace

std::optional<uint64_t> element_bytes(CUarray_format format, unsigned channels) {
  const auto known = format_of(format);
  if (!known) return std::nullopt;
  const bool fits = known->channels == 0 ? channels == 1 || channels == 2 || channels == 4
                                         : channels == known->channels;
  if (!fits) return std::nullopt;
  return known->component_bytes * channels;
}

ArrayShape shape_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, uint64_t element_bytes) {
  ArrayShape shape;
  shape.element_bytes = element_bytes;
  shape.row_bytes = descriptor.Width * element_bytes;
  shape.pitch = (shape.row_bytes + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
  shape.rows = std::max<uint64_t>(descriptor.Height, 1);
  shape.slices = std::max<uint64_t>(descriptor.Depth, 1);
  return shape;
}

CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                         unsigned level) {
  CUDA_ARRAY3D_DESCRIPTOR smaller = descriptor;
  smaller.Width = halved(descriptor.Width, level);
  smaller.Height = halved(descriptor.Height, level);
  if (!is_layered(descriptor)) smaller.Depth = halved(descriptor.Depth, level);
  return smaller;
}

unsigned level_count(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned wanted) {
  size_t largest = std::max(descriptor.Width, descriptor.Height);
  if (!is_layered(descriptor)) largest = std::max(largest, descriptor.Depth);
  const auto most = static_cast<unsigned>(std::bit_width(largest));
  return std::clamp(wanted, 1U, std::max(most, 1U));
}

ArrayTables& array_tables() {
  static ArrayTables& tables = *new ArrayTables;
  return tables;
}

void forget_arrays_of(uint32_t context_id) {
  const auto of_context = [context_id](const auto& array) {
    return array.memory.context_id == context_id;
  };
  array_tables().arrays.remove_if(of_context);
  array_tables().mipmaps.remove_if(of_context);
  texture_objects().remove_context(context_id);
  surface_objects().remove_context(context_id);
}

}  // namespace gacer::simdriver
