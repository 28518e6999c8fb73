// SPDX-License-Identifier: Apache-2.0
// Memory requests of MessageHandler.
#include <cuda.h>

#include <algorithm>

#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/mps_clients.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {

// Before the device is asked: failures on request and limits of MPS.
bool MessageHandler::may_take(const Client& client, const DeviceMemory* device, uint64_t bytes) {
  if (executor_.faults().allocation_fails(client.pid)) return false;
  return device == nullptr || !over_mps_limit(client, *device, bytes);
}

std::string MessageHandler::mem_alloc(Client& client, std::span<const uint8_t> bytes) {
  MemAllocMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (message.bytes == 0) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  if (!client.memory.has_context(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  if (!may_take(client, client.memory.device_of(message.context), message.bytes))
    return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  const auto address = client.memory.allocate(message.context, message.bytes);
  if (!address) return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  return reply(client, id, CUDA_SUCCESS, {.value = *address});
}

std::string MessageHandler::mem_free(Client& client, std::span<const uint8_t> bytes) {
  MemAllocMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const ClockPause pause(clock_);
  const bool known = client.memory.free(message.address);
  return reply(client, message.header.request_id, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

std::string MessageHandler::mem_info(Client& client, std::span<const uint8_t> bytes) {
  MemAllocMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const DeviceMemory* memory = client.memory.device_of(message.context);
  if (memory == nullptr) memory = &memory_.front();
  uint64_t free = memory->free_bytes(), total = memory->total_bytes();
  if (const uint64_t limit = client.mps_memory_limit[memory->index()]; client.mps && limit != 0) {
    total = std::min(total, limit);
    free = std::min(free, limit - std::min(limit, memory->used_bytes(client.pid)));
  }
  return reply(client, message.header.request_id, CUDA_SUCCESS, {.value = free, .value2 = total});
}

std::string MessageHandler::host_map(Client& client, Packet& packet) {
  HostMapMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const Status mapped =
      client.memory.map_host(message.address, message.bytes, message.charge_device_memory != 0,
                             std::move(packet.fd), message.context);
  return reply_status(client, message.header.request_id, mapped);
}

std::string MessageHandler::host_unmap(Client& client, std::span<const uint8_t> bytes) {
  HostMapMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const bool known = client.memory.unmap_host(message.address);
  return reply(client, message.header.request_id, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

std::string MessageHandler::peer_access(Client& client, std::span<const uint8_t> bytes) {
  PeerMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  return reply_status(client, message.header.request_id,
                      client.memory.set_peer(message.context, message.peer, message.enable != 0));
}

std::string MessageHandler::physical_create(Client& client, Packet& packet) {
  PhysicalMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (message.bytes == 0 || message.bytes % kPhysicalGranularity != 0)
    return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  std::shared_ptr<Backing> backing;
  if (message.location < memory_.size() &&
      !may_take(client, &memory_[message.location], message.bytes))
    return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  if (message.location == kHostLocation) {
    auto host = Backing::on_host(std::move(packet.fd), message.bytes);
    if (!host) return reply_status(client, id, host.error());
    backing = std::move(*host);
  } else if (message.location < memory_.size()) {
    backing = Backing::on_device(memory_[message.location], message.bytes, client.pid);
  } else {
    return reply(client, id, CUDA_ERROR_INVALID_DEVICE);
  }
  if (backing == nullptr) return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  const uint64_t handle = client.next_handle++;
  client.handles[handle] = std::move(backing);
  return reply(client, id, CUDA_SUCCESS, {.value = handle});
}

std::string MessageHandler::physical_release(Client& client, std::span<const uint8_t> bytes) {
  PhysicalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const ClockPause pause(clock_);
  const bool known = client.handles.erase(message.handle) > 0;
  return reply(client, message.header.request_id, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

std::string MessageHandler::physical_map(Client& client, std::span<const uint8_t> bytes) {
  PhysicalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const auto found = client.handles.find(message.handle);
  if (found == client.handles.end()) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  return reply_status(
      client, id, client.memory.map(message.address, message.bytes, found->second, message.offset));
}

std::string MessageHandler::physical_unmap(Client& client, std::span<const uint8_t> bytes) {
  PhysicalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const ClockPause pause(clock_);
  return reply_status(client, message.header.request_id,
                      client.memory.unmap(message.address, message.bytes));
}

std::string MessageHandler::physical_access(Client& client, std::span<const uint8_t> bytes) {
  PhysicalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  return reply_status(client, message.header.request_id,
                      client.memory.set_access(message.address, message.bytes, message.location,
                                               message.access != 0));
}

std::string MessageHandler::physical_export(Client& client, std::span<const uint8_t> bytes) {
  PhysicalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const auto found = client.handles.find(message.handle);
  if (found == client.handles.end()) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  const UniqueFd descriptor = shares_.share(found->second);
  if (!descriptor.valid()) return reply(client, id, CUDA_ERROR_OPERATING_SYSTEM);
  return reply(client, id, CUDA_SUCCESS, {.fd = descriptor.get()});
}

std::string MessageHandler::physical_import(Client& client, Packet& packet) {
  PhysicalMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const SharedObject shared = shares_.find(packet.fd.get());
  const auto* backing = std::get_if<std::shared_ptr<Backing>>(&shared);
  if (backing == nullptr) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  const uint64_t handle = client.next_handle++;
  client.handles[handle] = *backing;
  return reply(client, id, CUDA_SUCCESS,
               {.value = handle,
                .value2 = (*backing)->bytes(),
                .detail = (*backing)->location(),
                .fd = (*backing)->fd()});
}

}  // namespace gacer::simdevice
