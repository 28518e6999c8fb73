// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: which devices a process sees, and in which order. Rules: CUDA Programming
// Guide, "CUDA Environment Variables"; how far a number or a UUID is read, and that a device named
// twice leaves none, is what the driver is known to do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gacer::simdriver {

// Indices of the devices that `list` names, in its order. Entries are indices or (unambiguous
// beginnings of) UUIDs "GPU-..."; the first that names no device ends the list. nullptr: all.
std::vector<uint32_t> visible_devices(const char* list, std::span<const std::string> uuids);

}  // namespace gacer::simdriver
