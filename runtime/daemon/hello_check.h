// SPDX-License-Identifier: Apache-2.0
// A Hello as it came from the socket, checked and turned into the core's values.
#pragma once

#include <string>

#include "runtime/abi/control_messages.h"
#include "runtime/base/result.h"
#include "runtime/regulator/regulator.h"

namespace gacer::daemon {

struct AttachRequest {
  regulator::TenantConfig config;  // uid is the peer's, not part of the message: the caller sets it
  regulator::DeviceShape device;
  uint64_t memory_in_use_bytes = 0;  // on `device_uuid`
  abi::DeviceUuid device_uuid{};
  uint64_t start_time_ticks = 0;
  std::string executable;
};

// EPROTO: not a Hello of our version. EINVAL: a field out of its range; the text names field, value
// and range.
Result<AttachRequest> check_hello(const void* data, size_t bytes);

}  // namespace gacer::daemon
