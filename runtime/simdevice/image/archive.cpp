// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/archive.h"

#include <ar.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace gacer::simdevice {
namespace {

std::optional<uint64_t> decimal(const char* text, size_t bytes) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text, text + bytes, value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

// "name/", or "/123": at that offset of the table of long names.
std::string member_name(std::string_view field, std::string_view long_names) {
  if (field.size() > 1 && field[0] == '/' && field[1] >= '0' && field[1] <= '9') {
    const uint64_t at = decimal(field.data() + 1, field.size() - 1).value_or(0);
    if (at >= long_names.size()) return {};
    field = long_names.substr(at, long_names.find('\n', at) - at);
  }
  return std::string(field.substr(0, field.find('/')));
}

}  // namespace

bool is_archive(std::span<const uint8_t> image) {
  return image.size() >= SARMAG && std::memcmp(image.data(), ARMAG, SARMAG) == 0;
}

std::optional<std::vector<ArchiveMember>> archive_members(std::span<const uint8_t> image) {
  if (!is_archive(image)) return std::nullopt;
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  image = image.subspan(SARMAG);
  while (image.size() > 1) {
    if (image.size() < sizeof(ar_hdr)) return std::nullopt;
    ar_hdr header;
    std::memcpy(&header, image.data(), sizeof header);
    image = image.subspan(sizeof header);
    const auto bytes = decimal(header.ar_size, sizeof header.ar_size);
    if (!bytes || *bytes > image.size()) return std::nullopt;
    const auto content = image.first(*bytes);
    const std::string_view field(header.ar_name, sizeof header.ar_name);
    if (field.substr(0, 3) == "// ") {
      long_names = {reinterpret_cast<const char*>(content.data()), content.size()};
    } else if (field.substr(0, 2) != "/ " && field.substr(0, 7) != "/SYM64/") {
      members.push_back({member_name(field, long_names), content});
    }
    image = image.subspan(std::min<uint64_t>(*bytes + *bytes % 2, image.size()));
  }
  return members;
}

}  // namespace gacer::simdevice
