// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/texture/texture_ops.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "runtime/simdevice/exec/texture/lane_traffic.h"

namespace gacer::simdevice {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

template <typename F>
bool each_lane(uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1)
    if (!f(static_cast<uint32_t>(std::countr_zero(mask)))) return false;
  return true;
}

const TextureTable& table_of(Warp& warp) {
  static const TextureTable& empty = *new TextureTable;
  const TextureTable* table = warp.block().launch().textures;
  return table == nullptr ? empty : *table;
}

bool has_layer(TextureShape shape) {
  return shape == TextureShape::kArray1d || shape == TextureShape::kArray2d ||
         shape == TextureShape::kCubeArray;
}

// Reads one lane's operands off the list, in order.
class Operands {
 public:
  Operands(Warp& warp, const Insn& in, uint32_t lane)
      : warp_(warp),
        at_(warp.frame().code->lists.data() + in.list.first + in.list.defs),
        lane_(lane) {}
  uint32_t word() { return warp_.lanes<uint32_t>(*at_++)[lane_]; }
  float real() { return std::bit_cast<float>(word()); }
  int32_t whole() { return static_cast<int32_t>(word()); }

 private:
  Warp& warp_;
  const Ref* at_;
  uint32_t lane_;
};

TextureRequest request_of(Warp& warp, const Insn& in, const TextureOp& op, uint32_t lane) {
  Operands next(warp, in, lane);
  TextureRequest out;
  out.shape = op.shape;
  out.integer = op.integer;
  out.choice = op.choice;
  if (has_layer(op.shape)) out.layer = next.word();
  for (uint32_t i = 0; i < op.coordinates; ++i)
    if (op.integer) {
      out.whole[i] = next.whole();
    } else {
      out.at[i] = next.real();
    }
  if (op.choice == LevelChoice::kExplicit)
    out.level = op.integer ? static_cast<float>(next.whole()) : next.real();
  if (op.choice == LevelChoice::kGradient) {
    for (uint32_t i = 0; i < op.coordinates; ++i) out.dx[i] = next.real();
    for (uint32_t i = 0; i < op.coordinates; ++i) out.dy[i] = next.real();
  }
  for (uint32_t i = 0; op.offsets && i < op.coordinates; ++i) out.offset[i] = next.whole();
  return out;
}

void write_result(Warp& warp, const Insn& in, const TextureOp& op, uint32_t lane,
                  const Texel& value) {
  const Ref* d = warp.frame().code->lists.data() + in.list.first;
  if (!op.halves) {
    for (uint32_t i = 0; i < 4; ++i) warp.lanes<uint32_t>(d[i])[lane] = value[i];
    return;
  }
  uint32_t half[4];
  for (uint32_t i = 0; i < 4; ++i) half[i] = float_to_half_bits(std::bit_cast<float>(value[i]));
  warp.lanes<uint32_t>(d[0])[lane] = half[0] | half[1] << 16;
  warp.lanes<uint32_t>(d[1])[lane] = half[2] | half[3] << 16;
}

void write_predicate(Warp& warp, Ref dst, uint32_t value, uint32_t mask) {
  uint32_t* d = warp.lanes<uint32_t>(dst);
  *d = (*d & ~mask) | (value & mask);
}

// ---- queries: values of the ISA's tables of opaque types' properties

uint32_t data_type_of(const Image& image) {
  const uint32_t size = static_cast<uint32_t>(std::countr_zero(image.component_bytes));
  if (image.texel == TexelKind::kFloat) return image.component_bytes == 2 ? 0x10dd : 0x10de;
  const bool is_signed = image.texel == TexelKind::kSigned;
  if (image.normalised) return (is_signed ? 0x10d0 : 0x10d2) + size;
  return (is_signed ? 0x10d7 : 0x10da) + size;
}

uint32_t order_of(const Image& image) {
  return image.channels == 1 ? 0x10b0 : image.channels == 2 ? 0x10b2 : 0x10b5;
}

bool is_layered(ImageKind kind) {
  return kind == ImageKind::k1dLayered || kind == ImageKind::k2dLayered ||
         kind == ImageKind::kCube || kind == ImageKind::kCubeLayered;
}

uint32_t answer(TextureQuery query, const Image& image, bool normalised, uint32_t level) {
  const ImageLevel& at = image.levels[std::min<size_t>(level, image.levels.size() - 1)];
  switch (query) {
    case TextureQuery::kWidth:
      return at.width;
    case TextureQuery::kHeight:
      return image.kind == ImageKind::k1d || image.kind == ImageKind::k1dLayered ? 0 : at.height;
    case TextureQuery::kDepth:
      return image.kind == ImageKind::k3d ? at.depth : 0;
    case TextureQuery::kLevels:
      return static_cast<uint32_t>(image.levels.size());
    case TextureQuery::kArraySize:
      return is_layered(image.kind) ? at.depth : 0;
    case TextureQuery::kDataType:
      return data_type_of(image);
    case TextureQuery::kOrder:
      return order_of(image);
    case TextureQuery::kNormalised:
      return normalised;
    case TextureQuery::kSamples:
      return 1;
  }
  return 0;
}

}  // namespace

bool texture_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const auto op = std::bit_cast<TextureOp>(in.imm);
  const TextureTable& table = table_of(warp);
  const uint64_t* handles = warp.lanes<uint64_t>(in.a);
  LaneTraffic memory(warp);
  const Texture* texture = nullptr;
  uint64_t known = 0;
  const bool ok = each_lane(mask, [&](uint32_t lane) {
    if (texture == nullptr || handles[lane] != known) {
      known = handles[lane];
      texture = table.texture(known);
    }
    if (texture == nullptr)
      return warp.fault(FaultKind::kIllegalAddress, in, lane,
                        hex(known) + " is not a texture object of this context");
    memory.set_lane(lane);
    const TextureRequest request = request_of(warp, in, op, lane);
    Texel value{};
    if (!(op.gather ? gather_texture(*texture, request, op.component, memory, value)
                    : sample_texture(*texture, request, memory, value)))
      return warp.fault(
          FaultKind::kIllegalAddress, in, lane,
          "the texture's memory at " + hex(memory.bad_address()) + " is outside every allocation");
    write_result(warp, in, op, lane, value);
    return true;
  });
  if (!ok) return false;
  memory.count(false);
  if (in.dst2.used()) write_predicate(warp, in.dst2, ~0u, mask);
  return true;
}

bool texture_query_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const TextureTable& table = table_of(warp);
  const uint64_t* handles = warp.lanes<uint64_t>(in.a);
  const bool of_surface = (in.imm & 1) != 0, has_level = (in.imm & 2) != 0;
  return each_lane(mask, [&](uint32_t lane) {
    const Texture* texture = table.texture(handles[lane]);
    const Surface* surface = table.surface(handles[lane]);
    const Image* image = nullptr;
    if (!of_surface && texture != nullptr) image = &texture->image;
    if (of_surface && surface != nullptr) image = &surface->image;
    if (image == nullptr)
      return warp.fault(FaultKind::kIllegalAddress, in, lane,
                        hex(handles[lane]) +
                            (of_surface ? " is not a surface" : " is not a texture") +
                            " object of this context");
    const uint32_t level = has_level ? warp.lanes<uint32_t>(in.b)[lane] : 0;
    warp.lanes<uint32_t>(in.dst)[lane] =
        answer(static_cast<TextureQuery>(in.mode), *image,
               texture != nullptr && texture->sampler.normalised, level);
    return true;
  });
}

bool texture_type_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const TextureTable& table = table_of(warp);
  const uint64_t* handles = warp.lanes<uint64_t>(in.a);
  uint32_t value = 0;
  each_lane(mask, [&](uint32_t lane) {
    const bool is = in.mode == 0   ? table.texture(handles[lane]) != nullptr
                    : in.mode == 1 ? table.surface(handles[lane]) != nullptr
                                   : false;
    value |= static_cast<uint32_t>(is) << lane;
    return true;
  });
  write_predicate(warp, in.dst, value, mask);
  return true;
}

}  // namespace gacer::simdevice
