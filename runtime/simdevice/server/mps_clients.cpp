// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/mps_clients.h"

#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "runtime/simdevice/mps/mps_socket.h"

namespace gacer::simdevice {
namespace {

bool share_a_device(const Client& one, const Client& other, uint32_t devices) {
  for (uint32_t device = 0; device < devices; ++device)
    if (one.memory.has_context_on(device) && other.memory.has_context_on(device)) return true;
  return false;
}

std::string own_pid() {
  return std::to_string(::getpid());
}

}  // namespace

void tell_mps_joined(const Client& client, uint32_t devices) {
  const std::string directory = mps_pipe_directory();
  mps_notify(directory, "server_started " + own_pid() + " " + std::to_string(::getuid()));
  std::string line = "client_started " + own_pid() + " " + std::to_string(client.pid);
  for (uint32_t device = 0; device < devices; ++device) line += " " + std::to_string(device);
  mps_notify(directory, line);
}

void tell_mps_left(const Client& client) {
  if (client.mps)
    mps_notify(mps_pipe_directory(),
               "client_ended " + own_pid() + " " + std::to_string(client.pid));
}

bool spread_mps_faults(const Clients& clients, OpExecutor& executor, uint32_t devices) {
  for (const auto& [fd, source] : clients) {
    if (!source->mps || !source->device_fault) continue;
    for (const auto& [other_fd, other] : clients) {
      if (!other->mps || other->sticky_error != 0 || !share_a_device(*source, *other, devices))
        continue;
      other->fault_of_other = true;
      executor.fail(*other, source->sticky_error,
                    "a fault of an MPS client ends all that share the device");
    }
  }
  return mps_recovers(clients);
}

bool mps_recovers(const Clients& clients) {
  return std::any_of(clients.begin(), clients.end(), [](const auto& entry) {
    return entry.second->mps && (entry.second->device_fault || entry.second->fault_of_other);
  });
}

bool over_mps_limit(const Client& client, const DeviceMemory& device, uint64_t bytes) {
  const uint64_t limit = client.mps_memory_limit[device.index()];
  if (!client.mps || limit == 0) return false;
  const uint64_t used = device.used_bytes(client.pid);
  return used > limit || bytes > limit - used;
}

}  // namespace gacer::simdevice
