// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/device_identity.h"

#include <cstdio>
#include <cstring>

namespace gacer::simdevice {
namespace {

uint64_t fnv1a(const std::string& text, uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

UuidBytes device_uuid_bytes(const DeviceSpec& spec, uint32_t index) {
  const std::string place = index == 0 ? "" : "/" + std::to_string(index);
  const uint64_t halves[] = {fnv1a(spec.name + place, 0xcbf29ce484222325ULL),
                             fnv1a(spec.key + place, 0x84222325cbf29ce4ULL)};
  UuidBytes uuid{};
  std::memcpy(uuid.data(), halves, uuid.size());
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // version 4, variant 1
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string uuid_text(const UuidBytes& uuid) {
  std::string text = "GPU";
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
    text += digits;
  }
  return text;
}

}  // namespace gacer::simdevice
