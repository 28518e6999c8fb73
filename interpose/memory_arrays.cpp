// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_arrays.h"

#include <algorithm>

namespace gacer::interpose {
namespace {

constexpr uint64_t kPitch = 512;

struct FormatBits {
  unsigned first, last;  // CUarray_format, both included
  uint64_t bits;  // of one element, all planes; of block-compressed ones: of a 16th of a block
  bool per_channel;
};

// By number: older toolkits do not name them all.
constexpr FormatBits kFormats[] = {
    {0x01, 0x01, 8, true},   {0x08, 0x08, 8, true},    // 8-bit integers
    {0x02, 0x02, 16, true},  {0x09, 0x09, 16, true},   // 16-bit integers
    {0x10, 0x10, 16, true},                            // half
    {0x03, 0x03, 32, true},  {0x0a, 0x0a, 32, true},   // 32-bit integers
    {0x20, 0x20, 32, true},                            // float
    {0xb0, 0xb0, 12, false},                           // NV12
    {0x9f, 0xa1, 24, false},                           // P010, P016
    {0xa2, 0xa2, 16, false}, {0xa5, 0xa5, 16, false},  // NV16, YUY2
    {0xa3, 0xa4, 32, false}, {0xa6, 0xa7, 32, false},  // P210, P216, Y210, Y216
    {0xb2, 0xb2, 24, false}, {0xb4, 0xb4, 24, false},  // 4:4:4, 8 bits
    {0xb3, 0xb3, 48, false}, {0xb5, 0xb5, 48, false},  // 4:4:4, 10 and 16 bits
    {0xb1, 0xb1, 64, false},                           // Y416
    {0xc0, 0xc0, 8, false},  {0xc6, 0xc6, 8, false},   // normalised 8 bits, 1, 2, 4 channels
    {0xc1, 0xc1, 16, false}, {0xc7, 0xc7, 16, false},
    {0xc2, 0xc2, 32, false}, {0xc8, 0xc8, 32, false},
    {0xc3, 0xc3, 16, false}, {0xc9, 0xc9, 16, false},  // normalised 16 bits
    {0xc4, 0xc4, 32, false}, {0xca, 0xca, 32, false},
    {0xc5, 0xc5, 64, false}, {0xcb, 0xcb, 64, false},
    {0x91, 0x92, 4, false},  {0x97, 0x98, 4, false},  // BC1, BC4: 8 bytes a block
    {0x93, 0x96, 8, false},  {0x99, 0x9e, 8, false},  // other BC: 16 bytes a block
};
constexpr uint64_t kUsualBits = 32;  // AYUV, Y410, 101010_2, and what is not known yet

uint64_t bits_of(CUarray_format format, unsigned channels) {
  const auto number = static_cast<unsigned>(format);
  for (const FormatBits& row : kFormats)
    if (number >= row.first && number <= row.last)
      return row.per_channel ? row.bits * channels : row.bits;
  return kUsualBits;
}

bool by_blocks(CUarray_format format) {
  const auto number = static_cast<unsigned>(format);
  return number >= 0x91 && number <= 0x9e;
}

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t round_up(uint64_t value, uint64_t step) {
  return value > UINT64_MAX - step ? value : (value + step - 1) / step * step;
}

uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level) {
  const uint64_t width = std::max<uint64_t>(shape.Width >> level, 1);
  const uint64_t height = std::max<uint64_t>(shape.Height >> level, 1);
  // Layers stay, slices of a volume halve.
  const bool layers = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const uint64_t depth = std::max<uint64_t>(layers ? shape.Depth : shape.Depth >> level, 1);
  const uint64_t block = by_blocks(shape.Format) ? 4 : 1;
  const uint64_t row_bits = times(round_up(width, block), bits_of(shape.Format, shape.NumChannels));
  const uint64_t row_bytes =
      round_up(row_bits == UINT64_MAX ? row_bits : (row_bits + 7) / 8, kPitch);
  return times(times(row_bytes, round_up(height, block)), depth);
}

bool has_memory(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return (shape.Flags & (CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_SPARSE)) == 0;
}

}  // namespace

uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  return has_memory(shape) ? level_bytes(shape, 0) : 0;
}

uint64_t mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels) {
  if (!has_memory(shape)) return 0;
  uint64_t sum = 0;
  // More levels than the greatest extent has bits would all be of one element.
  for (unsigned level = 0; level < std::min(levels, 32U); ++level) {
    const uint64_t bytes = level_bytes(shape, level);
    sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
  }
  return sum;
}

CUDA_ARRAY3D_DESCRIPTOR wide_shape(const CUDA_ARRAY3D_DESCRIPTOR_v1& shape) {
  return {shape.Width, shape.Height, shape.Depth, shape.Format, shape.NumChannels, shape.Flags};
}

}  // namespace gacer::interpose
