// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/array_format.h"

namespace gacer::cudart {
namespace {

struct FormatRow {
  cudaChannelFormatKind kind;
  int bits;
  CUarray_format format;
};

constexpr FormatRow kFormats[] = {
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

// Channels in use come first and are of one width; three cannot be stored.
unsigned channels_of(const cudaChannelFormatDesc& desc) {
  const int bits[4] = {desc.x, desc.y, desc.z, desc.w};
  unsigned count = 0;
  while (count < 4 && bits[count] > 0) ++count;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < count ? desc.x : 0)) return 0;
  return count == 3 ? 0 : count;
}

}  // namespace

Outcome array_format(const cudaChannelFormatDesc& desc, ArrayFormat& out) {
  const unsigned channels = channels_of(desc);
  if (channels == 0) return cudaErrorInvalidChannelDescriptor;
  for (const FormatRow& row : kFormats) {
    if (row.kind != desc.f || row.bits != desc.x) continue;
    out = {row.format, channels};
    return cudaSuccess;
  }
  return cudaErrorInvalidChannelDescriptor;
}

cudaChannelFormatDesc channel_desc(const ArrayFormat& format) {
  cudaChannelFormatDesc out{};
  out.f = cudaChannelFormatKindNone;
  for (const FormatRow& row : kFormats) {
    if (row.format != format.format) continue;
    out.f = row.kind;
    out.x = row.bits;
    out.y = format.channels > 1 ? row.bits : 0;
    out.z = out.w = format.channels > 2 ? row.bits : 0;
  }
  return out;
}

size_t format_bytes(CUarray_format format) {
  for (const FormatRow& row : kFormats)
    if (row.format == format) return static_cast<size_t>(row.bits) / 8;
  return 1;
}

}  // namespace gacer::cudart
