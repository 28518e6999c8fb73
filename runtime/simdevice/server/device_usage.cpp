// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/device_usage.h"

namespace gacer::simdevice {

void DeviceUsage::kernel_started(const Client* client, uint64_t now_ns) {
  all_.start(now_ns);
  clients_[client].start(now_ns);
}

void DeviceUsage::kernel_ended(const Client* client, uint64_t now_ns) {
  all_.stop(now_ns);
  clients_[client].stop(now_ns);
}

void DeviceUsage::memory_moved(uint64_t start_ns, uint64_t end_ns, uint64_t bytes) {
  memory_.note(start_ns, memory_bytes_);
  memory_bytes_ += bytes;
  memory_.note(end_ns, memory_bytes_);
}

void DeviceUsage::forget_client(const Client* client, uint64_t now_ns) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  for (uint32_t left = found->second.running(); left > 0; --left) all_.stop(now_ns);
  clients_.erase(found);
}

uint64_t DeviceUsage::busy_ns(const Client* client, uint64_t now_ns) {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : found->second.busy_ns(now_ns);
}

uint64_t DeviceUsage::memory_bytes(uint64_t now_ns) {
  memory_.note(now_ns, memory_bytes_);
  return memory_.growth();
}

}  // namespace gacer::simdevice
