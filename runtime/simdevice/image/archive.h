// SPDX-License-Identifier: Apache-2.0
// Members of a Unix archive (.a). Input is untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gacer::simdevice {

struct ArchiveMember {
  std::string name;
  std::span<const uint8_t> bytes;  // into the archive
};

bool is_archive(std::span<const uint8_t> image);

// The members without symbol and name tables; nullopt: not an archive, or cut short.
std::optional<std::vector<ArchiveMember>> archive_members(std::span<const uint8_t> image);

}  // namespace gacer::simdevice
