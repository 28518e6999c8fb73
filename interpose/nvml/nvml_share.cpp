// SPDX-License-Identifier: Apache-2.0
#include "interpose/nvml/nvml_share.h"

#include <cerrno>
#include <cstring>

#include "interpose/memory_view.h"
#include "interpose/shim.h"
#include "runtime/shm/tenant_channel.h"

namespace gacer::interpose::nvml {
namespace {

// The limit that this process was started with holds until its tenant has an account.
bool own_share(const TenantConfig& config, Share& share) {
  share = {.limit_bytes = config.memory_limit_bytes, .used_bytes = 0};
  return share.limit_bytes != 0;
}

bool share_at_daemon(const uint8_t uuid[16], Share& share) {
  const TenantConfig& config = shim().session.config();
  abi::DeviceUuid device{};
  memcpy(device.data(), uuid, device.size());
  const Result<shm::MemoryGrant> answer =
      shm::query_memory(config.socket_path, config.tenant, device);
  if (!answer.ok()) return own_share(config, share);
  share = {.limit_bytes = answer.value().tenant_limit_bytes,
           .used_bytes = answer.value().tenant_used_bytes};
  return share.limit_bytes != 0;
}

}  // namespace

bool share_of_device(const uint8_t uuid[16], Share& share) {
  const int saved_errno = errno;
  uint64_t total = 0;
  uint64_t used = 0;
  bool limited = false;
  try {
    const int known = memory_view(uuid, &total, &used);
    share = {.limit_bytes = total, .used_bytes = used};
    limited = known == kMemoryUnknown ? share_at_daemon(uuid, share) : known == 0;
  } catch (...) {  // out of memory: the device's own numbers are all that is left
    limited = false;
  }
  errno = saved_errno;
  return limited;
}

}  // namespace gacer::interpose::nvml
