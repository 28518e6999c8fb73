// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects of clients.
#pragma once

#include <memory>

#include "runtime/simdevice/server/client.h"

namespace gacer::simdevice {

// What a launch in this context may name; nullptr: nothing.
std::shared_ptr<const TextureTable> textures_of(const Client& client, uint32_t context);
void forget_textures(Client& client, uint32_t context);

}  // namespace gacer::simdevice
