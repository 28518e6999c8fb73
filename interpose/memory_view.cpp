// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_view.h"

#include <algorithm>
#include <cstring>

#include "interpose/driver.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {

int memory_view(const uint8_t uuid[16], uint64_t* total, uint64_t* used) {
  if (uuid == nullptr || total == nullptr || used == nullptr) return kMemoryUnknown;
  // Pairs with the release in load_driver().
  if (!detail::driver_ready.load(std::memory_order_acquire)) return kMemoryUnknown;
  const HookScope scope;
  abi::DeviceUuid wanted{};
  memcpy(wanted.data(), uuid, wanted.size());
  MemoryLedger& memory = shim().memory;
  const uint32_t device = memory.devices().find(wanted);
  if (device == kNoDevice) return kMemoryUnknown;
  attached();
  const MemoryView view = memory.view(device);
  if (view.limit_bytes == 0) return kMemoryUnlimited;
  *total = std::min(view.limit_bytes, view.total_bytes);
  *used = std::min(view.used_bytes, *total);
  return 0;
}

}  // namespace gacer::interpose
