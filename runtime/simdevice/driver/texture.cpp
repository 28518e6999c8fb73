// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/texture.h"

#include <algorithm>
#include <cmath>

namespace gacer::simdriver {
namespace {

using simdevice::TextureLevel;
using simdevice::TextureMsg;

// As ImageKind and TexelKind of ../exec/texture/texture_table.h.
enum Kind : uint32_t {
  kLinear,
  kPitched,
  k1d,
  k2d,
  k3d,
  k1dLayered,
  k2dLayered,
  kCube,
  kCubeLayered
};
enum TexelKind : uint32_t { kUnsigned, kSigned, kFloat };

constexpr uint64_t kPointerAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr uint64_t kPitchAlignment = 32;     // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
constexpr uint64_t kMostLinear = 1U << 28;   // elements
constexpr uint64_t kMostPitched = 131072;
constexpr uint64_t kMostPitchBytes = 2097120;
constexpr float kMostLevel = 1000.0F;

struct Format {
  TexelKind texel;
  uint32_t bytes;
  bool fractions;
};

std::optional<Format> format_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return Format{kUnsigned, 1, false};
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return Format{kUnsigned, 2, false};
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return Format{kUnsigned, 4, false};
    case CU_AD_FORMAT_SIGNED_INT8:
      return Format{kSigned, 1, false};
    case CU_AD_FORMAT_SIGNED_INT16:
      return Format{kSigned, 2, false};
    case CU_AD_FORMAT_SIGNED_INT32:
      return Format{kSigned, 4, false};
    case CU_AD_FORMAT_HALF:
      return Format{kFloat, 2, false};
    case CU_AD_FORMAT_FLOAT:
      return Format{kFloat, 4, false};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
      return Format{kUnsigned, 1, true};
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return Format{kSigned, 1, true};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
      return Format{kUnsigned, 2, true};
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return Format{kSigned, 2, true};
    default:
      return std::nullopt;
  }
}

CUresult set_format(CUarray_format format, unsigned channels, TextureMsg& out) {
  const auto known = format_of(format);
  if (!known || !element_bytes(format, channels)) return CUDA_ERROR_INVALID_VALUE;
  out.texel_kind = known->texel;
  out.component_bytes = known->bytes;
  out.channels = channels;
  if (known->fractions) out.flags |= simdevice::kTextureFractions;
  return CUDA_SUCCESS;
}

// View formats come in groups of 1, 2 and 4 channels.
CUresult set_view_format(CUresourceViewFormat format, TextureMsg& out) {
  constexpr Format kGroups[] = {{kUnsigned, 1, false}, {kSigned, 1, false},   {kUnsigned, 2, false},
                                {kSigned, 2, false},   {kUnsigned, 4, false}, {kSigned, 4, false},
                                {kFloat, 2, false},    {kFloat, 4, false}};
  if (format == CU_RES_VIEW_FORMAT_NONE) return CUDA_SUCCESS;
  if (format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1) return CUDA_ERROR_NOT_SUPPORTED;
  const auto index = static_cast<unsigned>(format) - 1;
  const Format& group = kGroups[index / 3];
  if (group.bytes << (index % 3) != out.component_bytes * out.channels)
    return CUDA_ERROR_INVALID_VALUE;
  out.texel_kind = group.texel;
  out.component_bytes = group.bytes;
  out.channels = 1U << (index % 3);
  out.flags &= ~simdevice::kTextureFractions;
  return CUDA_SUCCESS;
}

Kind kind_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) return layered ? kCubeLayered : kCube;
  if (layered) return d.Height == 0 ? k1dLayered : k2dLayered;
  if (d.Depth != 0) return k3d;
  return d.Height == 0 ? k1d : k2d;
}

bool has_layers(uint32_t kind) {
  return kind >= k1dLayered;
}

TextureLevel level_of(const Array& array) {
  const CUDA_ARRAY3D_DESCRIPTOR& d = array.descriptor;
  return {array.address,
          array.shape.pitch,
          array.shape.slice_pitch(),
          static_cast<uint32_t>(d.Width),
          static_cast<uint32_t>(array.shape.rows),
          static_cast<uint32_t>(array.shape.slices),
          0};
}

CUresult describe_array(const Array& array, TextureMsg& out) {
  SIM_TRY(set_format(array.descriptor.Format, array.descriptor.NumChannels, out));
  out.image_kind = kind_of(array.descriptor);
  out.level[0] = level_of(array);
  out.levels = 1;
  return CUDA_SUCCESS;
}

CUresult describe_mipmap(const MipmappedArray& mipmap, TextureMsg& out) {
  if (mipmap.levels.empty() || mipmap.levels.size() > simdevice::kMaxTextureLevels)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(describe_array(*mipmap.levels.front(), out));
  out.image_kind = kind_of(mipmap.descriptor);
  out.levels = static_cast<uint32_t>(mipmap.levels.size());
  for (uint32_t i = 0; i < out.levels; ++i) out.level[i] = level_of(*mipmap.levels[i]);
  return CUDA_SUCCESS;
}

CUresult describe_linear(const CUDA_RESOURCE_DESC& resource, TextureMsg& out) {
  const auto& from = resource.res.linear;
  SIM_TRY(set_format(from.format, from.numChannels, out));
  const uint64_t count = from.sizeInBytes / (uint64_t{out.component_bytes} * out.channels);
  if (from.devPtr == 0 || from.devPtr % kPointerAlignment != 0 || count == 0 || count > kMostLinear)
    return CUDA_ERROR_INVALID_VALUE;
  out.image_kind = kLinear;
  out.levels = 1;
  out.level[0] = {from.devPtr, 0, 0, static_cast<uint32_t>(count), 1, 1, 0};
  return CUDA_SUCCESS;
}

CUresult describe_pitched(const CUDA_RESOURCE_DESC& resource, TextureMsg& out) {
  const auto& from = resource.res.pitch2D;
  SIM_TRY(set_format(from.format, from.numChannels, out));
  const auto extent_fits = [](size_t n) { return n > 0 && n <= kMostPitched; };
  if (from.devPtr == 0 || from.devPtr % kPointerAlignment != 0 ||
      from.pitchInBytes % kPitchAlignment != 0 || from.pitchInBytes > kMostPitchBytes ||
      !extent_fits(from.width) || !extent_fits(from.height) ||
      from.pitchInBytes < from.width * out.component_bytes * out.channels)
    return CUDA_ERROR_INVALID_VALUE;
  out.image_kind = kPitched;
  out.levels = 1;
  out.level[0] = {from.devPtr,
                  from.pitchInBytes,
                  0,
                  static_cast<uint32_t>(from.width),
                  static_cast<uint32_t>(from.height),
                  1,
                  0};
  return CUDA_SUCCESS;
}

// Another format for the same bytes, and a range of levels and layers.
CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC& view, TextureMsg& out) {
  SIM_TRY(set_view_format(view.format, out));
  if (view.firstMipmapLevel > view.lastMipmapLevel || view.lastMipmapLevel >= out.levels ||
      view.firstLayer > view.lastLayer)
    return CUDA_ERROR_INVALID_VALUE;
  const uint32_t layers = has_layers(out.image_kind) ? out.level[0].depth : 1;
  if (view.lastLayer >= layers) return CUDA_ERROR_INVALID_VALUE;
  out.levels = view.lastMipmapLevel - view.firstMipmapLevel + 1;
  for (uint32_t i = 0; i < out.levels; ++i) {
    out.level[i] = out.level[view.firstMipmapLevel + i];
    if (!has_layers(out.image_kind)) continue;
    out.level[i].address += view.firstLayer * out.level[i].slice_pitch;
    out.level[i].depth = view.lastLayer - view.firstLayer + 1;
  }
  const TextureLevel& first = out.level[0];
  const bool extents_fit =
      view.width == first.width && std::max<size_t>(view.height, 1) == first.height;
  return extents_fit ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Whether a fetch gives integers, which cannot be filtered.
bool reads_integers(const TextureMsg& m) {
  if (m.texel_kind == kFloat || (m.flags & simdevice::kTextureFractions) != 0) return false;
  return m.component_bytes == 4 || (m.flags & simdevice::kTextureAsInteger) != 0;
}

float finite_level(float level) {
  return std::isnan(level) ? 0.0F : std::clamp(level, -kMostLevel, kMostLevel);
}

}  // namespace

void TextureObjects::add(uint64_t handle, const TextureObject& object) {
  const std::lock_guard lock(mutex_);
  objects_[handle] = object;
}

std::optional<TextureObject> TextureObjects::find(uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end()) return std::nullopt;
  return found->second;
}

bool TextureObjects::remove(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  return objects_.erase(handle) != 0;
}

void TextureObjects::remove_context(uint32_t context_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.context_id == context_id; });
}

TextureObjects& texture_objects() {
  static TextureObjects& objects = *new TextureObjects;
  return objects;
}
TextureObjects& surface_objects() {
  static TextureObjects& objects = *new TextureObjects;
  return objects;
}

CUresult describe_resource(const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC* view,
                           TextureMsg& out) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const auto array = array_tables().arrays.find(resource.res.array.hArray);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      SIM_TRY(describe_array(*array, out));
      break;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const auto mipmap = array_tables().mipmaps.find(resource.res.mipmap.hMipmappedArray);
      if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      SIM_TRY(describe_mipmap(*mipmap, out));
      break;
    }
    case CU_RESOURCE_TYPE_LINEAR:
      return view != nullptr ? CUDA_ERROR_INVALID_VALUE : describe_linear(resource, out);
    case CU_RESOURCE_TYPE_PITCH2D:
      return view != nullptr ? CUDA_ERROR_INVALID_VALUE : describe_pitched(resource, out);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return view != nullptr ? apply_view(*view, out) : CUDA_SUCCESS;
}

CUresult describe_surface(const CUDA_RESOURCE_DESC& resource, TextureMsg& out) {
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY || resource.flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto array = array_tables().arrays.find(resource.res.array.hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((array->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
  out.surface = 1;
  return describe_array(*array, out);
}

CUresult describe_sampler(const CUDA_TEXTURE_DESC& texture, TextureMsg& out) {
  constexpr unsigned kKnown = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                              CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                              CU_TRSF_SEAMLESS_CUBEMAP;
  if ((texture.flags & ~kKnown) != 0 || texture.filterMode > CU_TR_FILTER_MODE_LINEAR ||
      texture.mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < 3; ++i) {
    if (texture.addressMode[i] > CU_TR_ADDRESS_MODE_BORDER) return CUDA_ERROR_INVALID_VALUE;
    out.address_modes[i] = static_cast<uint32_t>(texture.addressMode[i]);
  }
  const auto set = [&](bool wish, uint32_t flag) { out.flags |= wish ? flag : 0; };
  const bool linear = texture.filterMode == CU_TR_FILTER_MODE_LINEAR && out.image_kind != kLinear;
  set(linear, simdevice::kTextureLinear);
  set(texture.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR, simdevice::kTextureLinearLevels);
  set((texture.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0, simdevice::kTextureNormalised);
  set((texture.flags & CU_TRSF_READ_AS_INTEGER) != 0, simdevice::kTextureAsInteger);
  set((texture.flags & CU_TRSF_SRGB) != 0, simdevice::kTextureSrgb);
  if (linear && reads_integers(out)) return CUDA_ERROR_INVALID_VALUE;
  const bool cube = out.image_kind == kCube || out.image_kind == kCubeLayered;
  if (linear && cube && (texture.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  out.bias = finite_level(texture.mipmapLevelBias);
  out.least_level = finite_level(texture.minMipmapLevelClamp);
  out.greatest_level = finite_level(texture.maxMipmapLevelClamp);
  std::copy(std::begin(texture.borderColor), std::end(texture.borderColor), std::begin(out.border));
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
