// SPDX-License-Identifier: Apache-2.0
// Requests of MessageHandler about memory pools and about what is shared by tokens.
#include <cuda.h>

#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {

std::string MessageHandler::dispatch_pool(Client& client, SimType type, Packet& packet) {
  if (type >= SimType::kPoolCreate && type <= SimType::kPoolImportPointer) {
    PoolMsg message;
    if (!parse(packet.bytes(), message)) return kWrongSize;
    return pool_request(client, type, message, packet);
  }
  TokenMsg message;
  if (type < SimType::kPoolCreate || type > SimType::kSharedEventQuery)
    return "message type " + std::to_string(static_cast<unsigned>(type)) + " is not known";
  if (!parse(packet.bytes(), message)) return kWrongSize;
  return token_request(client, type, message);
}

std::string MessageHandler::pool_request(Client& client, SimType type, const PoolMsg& message,
                                         Packet& packet) {
  const uint32_t id = message.header.request_id;
  if (type == SimType::kPoolCreate) return pool_create(client, message);
  if (type == SimType::kPoolImport) return pool_import(client, message, packet.fd.get());
  const auto found = client.pools.find(message.pool);
  if (found == client.pools.end()) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  MemoryPool& pool = *found->second;
  MemoryPool::Figure& figure = message.figure == static_cast<uint32_t>(PoolFigure::kReserved)
                                   ? pool.reserved()
                                   : pool.used();
  const ClockPause pause(clock_);
  switch (type) {
    case SimType::kPoolDestroy:
      pool.trim(0);
      client.pools.erase(found);
      return reply(client, id, CUDA_SUCCESS);
    case SimType::kPoolAlloc:
      return pool_alloc(client, message);
    case SimType::kPoolTrim:
      pool.trim(message.bytes);
      return reply(client, id, CUDA_SUCCESS);
    case SimType::kPoolUsage:
      return reply(client, id, CUDA_SUCCESS, {.value = figure.current, .value2 = figure.highest});
    case SimType::kPoolResetHighest:
      figure.highest = figure.current;
      return reply(client, id, CUDA_SUCCESS);
    case SimType::kPoolAccess:
      if (message.location >= memory_.size()) return reply(client, id, CUDA_ERROR_INVALID_DEVICE);
      pool.set_access(message.location, message.access != 0);
      client.memory.access_changed();
      return reply(client, id, CUDA_SUCCESS);
    case SimType::kPoolExport: {
      const UniqueFd descriptor = shares_.share(found->second);
      return reply(client, id, descriptor.valid() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM,
                   {.fd = descriptor.get()});
    }
    default:
      return pool_import_pointer(client, message);
  }
}

std::string MessageHandler::pool_create(Client& client, const PoolMsg& message) {
  const uint32_t id = message.header.request_id;
  if (message.location >= memory_.size()) return reply(client, id, CUDA_ERROR_INVALID_DEVICE);
  const uint64_t pool = client.next_handle++;
  client.pools[pool] = std::make_shared<MemoryPool>(
      memory_[message.location], client.pool_block_bytes, message.bytes, client.pid);
  return reply(client, id, CUDA_SUCCESS, {.value = pool});
}

std::string MessageHandler::pool_alloc(Client& client, const PoolMsg& message) {
  const uint32_t id = message.header.request_id;
  if (!client.memory.has_context(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  if (!may_take(client, client.memory.device_of(message.context), message.bytes))
    return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  auto piece = client.pools[message.pool]->allocate(message.bytes);
  if (piece == nullptr) return reply(client, id, CUDA_ERROR_OUT_OF_MEMORY);
  const uint64_t address = piece->address();
  const bool added = client.memory.add_piece(message.context, std::move(piece));
  return reply(client, id, added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, {.value = address});
}

std::string MessageHandler::pool_import(Client& client, const PoolMsg& message, int descriptor) {
  const uint32_t id = message.header.request_id;
  const SharedObject shared = shares_.find(descriptor);
  const auto* pool = std::get_if<std::shared_ptr<MemoryPool>>(&shared);
  if (pool == nullptr) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  const uint64_t handle = client.next_handle++;
  client.pools[handle] = *pool;
  return reply(client, id, CUDA_SUCCESS, {.value = handle, .detail = (*pool)->location()});
}

std::string MessageHandler::pool_import_pointer(Client& client, const PoolMsg& message) {
  const uint32_t id = message.header.request_id;
  const SharedObject shared = shares_.find(message.token);
  const auto* piece = std::get_if<std::shared_ptr<PoolPiece>>(&shared);
  if (piece == nullptr || (*piece)->pool() != client.pools[message.pool] ||
      !client.memory.add_piece(message.context, *piece))
    return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  return reply(client, id, CUDA_SUCCESS,
               {.value = (*piece)->address(),
                .value2 = (*piece)->bytes(),
                .detail = (*piece)->block()->location()});
}

std::string MessageHandler::token_request(Client& client, SimType type, const TokenMsg& message) {
  const uint32_t id = message.header.request_id;
  if (type == SimType::kExportToken) return export_token(client, message);
  if (type == SimType::kImportMemory) return import_memory(client, message);
  std::shared_ptr<SharedEvent> event;
  if (type == SimType::kSharedEventCreate) event = std::make_shared<SharedEvent>();
  if (type == SimType::kSharedEventImport) {
    const SharedObject shared = shares_.find(message.token);
    if (const auto* found = std::get_if<std::shared_ptr<SharedEvent>>(&shared)) event = *found;
    if (event == nullptr) return reply(client, id, CUDA_ERROR_INVALID_HANDLE);
  }
  if (event != nullptr) {
    const auto handle = static_cast<uint32_t>(client.next_handle++ & ~kSharedEvent);
    client.shared_events[handle] = std::move(event);
    return reply(client, id, CUDA_SUCCESS, {.value = handle});
  }
  const auto found = client.shared_events.find(message.shared_event);
  if (found == client.shared_events.end()) return reply(client, id, CUDA_ERROR_INVALID_HANDLE);
  const uint64_t done = found->second->newest.pending() ? 0 : 1;
  if (type == SimType::kSharedEventDestroy) client.shared_events.erase(found);
  return reply(client, id, CUDA_SUCCESS, {.value = done});
}

std::string MessageHandler::export_token(Client& client, const TokenMsg& message) {
  const uint32_t id = message.header.request_id;
  SharedObject object;
  if (message.shared_event != 0) {
    const auto found = client.shared_events.find(message.shared_event);
    if (found != client.shared_events.end()) object = found->second;
  } else {
    std::visit([&](const auto& memory) { object = memory; },
               client.memory.shareable(message.address));
  }
  if (object.index() == 0) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  const ShareToken token = shares_.make_token(object);
  return reply(client, id, CUDA_SUCCESS, {.value = token.half[0], .value2 = token.half[1]});
}

std::string MessageHandler::import_memory(Client& client, const TokenMsg& message) {
  const uint32_t id = message.header.request_id;
  const SharedObject shared = shares_.find(message.token);
  const auto* backing = std::get_if<std::shared_ptr<Backing>>(&shared);
  if (backing == nullptr) return reply(client, id, CUDA_ERROR_INVALID_HANDLE);
  // The process that made it has it already.
  if (!client.memory.has_context(message.context) ||
      !client.memory.add_import(message.context, *backing))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  return reply(client, id, CUDA_SUCCESS,
               {.value = (*backing)->device_address(),
                .value2 = (*backing)->bytes(),
                .detail = (*backing)->location()});
}

}  // namespace gacer::simdevice
