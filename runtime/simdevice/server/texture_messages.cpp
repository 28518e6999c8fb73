// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/texture_messages.h"

#include <cuda.h>

#include <cmath>

#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {
namespace {

constexpr uint32_t kKnownFlags = kTextureFractions | kTextureLinear | kTextureLinearLevels |
                                 kTextureNormalised | kTextureAsInteger | kTextureSrgb;
constexpr uint64_t kMostPitch = uint64_t{1} << 40;
constexpr uint64_t kAlignment = 16;  // of the widest element

template <typename Enum>
bool is_one_of(uint32_t value) {
  return value < static_cast<uint32_t>(Enum::kCount);
}

bool is_power_up_to(uint32_t value, uint32_t most) {
  return value == 1 || value == 2 || (value == 4 && most >= 4);
}

bool format_is_sound(const TextureMsg& m) {
  if (!is_one_of<ImageKind>(m.image_kind) || !is_one_of<TexelKind>(m.texel_kind)) return false;
  const bool is_float = m.texel_kind == static_cast<uint32_t>(TexelKind::kFloat);
  if (!is_power_up_to(m.component_bytes, 4) || !is_power_up_to(m.channels, 4)) return false;
  const bool fractions = (m.flags & kTextureFractions) != 0;
  return (m.flags & ~kKnownFlags) == 0 && !(is_float && m.component_bytes == 1) &&
         !(fractions && (is_float || m.component_bytes == 4));
}

bool level_is_sound(const TextureLevel& l) {
  return l.width != 0 && l.height != 0 && l.depth != 0 && l.pitch <= kMostPitch &&
         l.slice_pitch <= kMostPitch &&
         ((l.address | l.pitch | l.slice_pitch) & (kAlignment - 1)) == 0;
}

bool is_sound(const TextureMsg& m) {
  if (m.levels == 0 || m.levels > kMaxTextureLevels || !format_is_sound(m)) return false;
  for (uint32_t i = 0; i < m.levels; ++i)
    if (!level_is_sound(m.level[i])) return false;
  for (uint32_t mode : m.address_modes)
    if (!is_one_of<AddressMode>(mode)) return false;
  return std::isfinite(m.bias) && std::isfinite(m.least_level) && std::isfinite(m.greatest_level);
}

Image image_of(const TextureMsg& m) {
  Image image;
  image.kind = static_cast<ImageKind>(m.image_kind);
  image.texel = static_cast<TexelKind>(m.texel_kind);
  image.component_bytes = static_cast<uint8_t>(m.component_bytes);
  image.channels = static_cast<uint8_t>(m.channels);
  image.normalised = (m.flags & kTextureFractions) != 0;
  image.levels.clear();
  for (uint32_t i = 0; i < m.levels; ++i) {
    const TextureLevel& l = m.level[i];
    image.levels.push_back({l.address, l.pitch, l.slice_pitch, l.width, l.height, l.depth});
  }
  return image;
}

Sampler sampler_of(const TextureMsg& m) {
  Sampler sampler;
  for (size_t i = 0; i < 3; ++i) sampler.address[i] = static_cast<AddressMode>(m.address_modes[i]);
  sampler.linear = (m.flags & kTextureLinear) != 0;
  sampler.linear_levels = (m.flags & kTextureLinearLevels) != 0;
  sampler.normalised = (m.flags & kTextureNormalised) != 0;
  sampler.as_integer = (m.flags & kTextureAsInteger) != 0;
  sampler.srgb = (m.flags & kTextureSrgb) != 0;
  sampler.bias = m.bias;
  sampler.least_level = m.least_level;
  sampler.greatest_level = m.greatest_level;
  for (size_t i = 0; i < 4; ++i) sampler.border[i] = m.border[i];
  return sampler;
}

// The context's table, which no launch refers to.
TextureTable& own_table(Client& client, uint32_t context) {
  auto& table = client.textures[context];
  if (table == nullptr) {
    table = std::make_shared<TextureTable>();
  } else if (table.use_count() > 1) {
    table = std::make_shared<TextureTable>(*table);
  }
  return *table;
}

}  // namespace

std::shared_ptr<const TextureTable> textures_of(const Client& client, uint32_t context) {
  const auto found = client.textures.find(context);
  return found == client.textures.end() ? nullptr : found->second;
}

void forget_textures(Client& client, uint32_t context) {
  const auto found = client.textures.find(context);
  if (found == client.textures.end()) return;
  client.texture_count -= static_cast<uint32_t>(found->second->size());
  client.textures.erase(found);
}

std::string MessageHandler::texture_create(Client& client, std::span<const uint8_t> bytes) {
  TextureMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (!client.memory.has_context(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  if (!is_sound(message)) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  if (client.texture_count >= kMaxTextures)
    return reply_text(client, id, CUDA_ERROR_OUT_OF_MEMORY, "too many texture and surface objects");
  const uint64_t handle = client.next_texture++;
  TextureTable& table = own_table(client, message.context);
  if (message.surface != 0) {
    table.add(handle, Surface{image_of(message)});
  } else {
    table.add(handle, Texture{image_of(message), sampler_of(message)});
  }
  ++client.texture_count;
  return reply(client, id, CUDA_SUCCESS, {.value = handle});
}

std::string MessageHandler::texture_destroy(Client& client, std::span<const uint8_t> bytes) {
  TextureMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const bool known = client.textures.contains(message.context) &&
                     own_table(client, message.context).remove(message.handle);
  client.texture_count -= known;
  return reply(client, id, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // namespace gacer::simdevice
