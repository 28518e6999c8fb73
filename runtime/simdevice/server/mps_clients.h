// SPDX-License-Identifier: Apache-2.0
// What MPS means for the clients of this server, beside sharing SMs (engine): limits of device
// memory, faults that end all clients of a device, and what the control daemon is told. Source:
// NVIDIA "Multi-Process Service", sections Memory Protection and Error Containment and Device
// Memory Limit.
#pragma once

#include <cstdint>

#include "runtime/simdevice/server/client.h"
#include "runtime/simdevice/server/op_executor.h"

namespace gacer::simdevice {

inline constexpr const char* kMpsFault =
    "an MPS client has faulted: all clients must leave before new ones are taken";

// The control daemon's list of clients.
void tell_mps_joined(const Client& client, uint32_t devices);
void tell_mps_left(const Client& client);

// A fatal fault of one MPS client ends all MPS clients that share a device with it: the hardware
// cannot tell whose it was. True when some client is in that state now; until all of them have left
// no new one is taken.
bool spread_mps_faults(const Clients& clients, OpExecutor& executor, uint32_t devices);
bool mps_recovers(const Clients& clients);

// True: `bytes` more of `device` would exceed what the client may pin there.
bool over_mps_limit(const Client& client, const DeviceMemory& device, uint64_t bytes);

}  // namespace gacer::simdevice
