// SPDX-License-Identifier: Apache-2.0
// Limits of what a tenant may say about itself, one place for the tool that sets it and the daemon
// that checks it.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/abi/control_messages.h"

namespace gacer::shm {

inline constexpr uint32_t kMinWeight = 1;
inline constexpr uint32_t kMaxWeight = 1000;
inline constexpr int32_t kMinPriority = -1000;
inline constexpr int32_t kMaxPriority = 1000;
inline constexpr size_t kMaxTenantName = sizeof(abi::HelloMessage::tenant) - 1;

// 1 to 63 printable ASCII characters: it goes into tables, logs and JSON as it is.
constexpr bool is_tenant_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxTenantName) return false;
  for (const char c : name)
    if (c < ' ' || c > '~') return false;
  return true;
}

}  // namespace gacer::shm
