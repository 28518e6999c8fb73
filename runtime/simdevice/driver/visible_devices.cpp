// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace gacer::simdriver {
namespace {

constexpr std::string_view kUuidPrefix = "GPU-";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// As strtoul: "1x" is 1.
std::optional<uint32_t> by_index(std::string_view entry, size_t count) {
  uint32_t index = 0;
  const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (read.ec != std::errc() || index >= count) return std::nullopt;
  return index;
}

std::optional<uint32_t> by_uuid(std::string_view entry, std::span<const std::string> uuids) {
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < uuids.size(); ++i) {
    if (!uuids[i].starts_with(entry)) continue;
    if (found) return std::nullopt;  // ambiguous
    found = i;
  }
  return found;
}

}  // namespace

std::vector<uint32_t> visible_devices(const char* list, std::span<const std::string> uuids) {
  std::vector<uint32_t> visible;
  if (list == nullptr) {
    visible.resize(uuids.size());
    std::iota(visible.begin(), visible.end(), 0U);
    return visible;
  }
  const bool named = trimmed(list).starts_with(kUuidPrefix);  // the first entry decides for all
  for (std::string_view rest = list;;) {
    const std::string_view entry = trimmed(rest.substr(0, rest.find(',')));
    if (named && !entry.starts_with(kUuidPrefix)) return visible;
    const auto device = named ? by_uuid(entry, uuids) : by_index(entry, uuids.size());
    if (!device) return visible;
    if (std::find(visible.begin(), visible.end(), *device) != visible.end()) return {};
    visible.push_back(*device);
    if (rest.find(',') == std::string_view::npos) return visible;
    rest.remove_prefix(rest.find(',') + 1);
  }
}

}  // namespace gacer::simdriver
