// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/message_handler.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/log.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/mps_clients.h"
#include "runtime/simdevice/server/replies.h"
#include "runtime/simdevice/server/texture_messages.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMostPtxBytes = 256ULL << 20;
// By StreamMsg::blocking.
constexpr StreamKind kKinds[] = {StreamKind::kNonBlocking, StreamKind::kBlocking,
                                 StreamKind::kLegacy};

std::string text_field(const char* field, size_t size) {
  return {field, ::strnlen(field, size)};
}

// By pread: mapping the client's file would let it end the server by shrinking the file.
Result<std::string> read_ptx(int fd, uint64_t bytes) {
  if (fd < 0 || bytes == 0 || bytes > kMostPtxBytes)
    return Error{CUDA_ERROR_INVALID_IMAGE, "module image is missing, empty or above 256 MiB"};
  std::string text(bytes, '\0');
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(fd, text.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{CUDA_ERROR_INVALID_IMAGE, "module image is shorter than announced"};
    done += static_cast<uint64_t>(got);
  }
  // Of PTX text only: machine code may end in zeroes.
  while (text.front() != '\x7f' && text.size() > 1 && text.back() == '\0') text.pop_back();
  return text;
}

UniqueFd memfd_with(const std::string& text) {
  UniqueFd fd(::memfd_create("simgpu-module", MFD_CLOEXEC));
  if (!fd.valid() ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return UniqueFd();
  return fd;
}

}  // namespace

std::string MessageHandler::handle(Client& client, Packet& packet) {
  SimHeader header{};
  const auto bytes = packet.bytes();
  if (bytes.size() < sizeof header) return "packet is shorter than a header";
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kSimMagic) return "packet has the wrong magic";
  if (header.bytes != bytes.size()) return "packet and header disagree about the size";
  const auto type = static_cast<SimType>(header.type);
  if (header.version != kSimVersion) {
    std::string text = "driver speaks protocol " + std::to_string(header.version) +
                       ", the running simgpu-server " + std::to_string(kSimVersion) +
                       ": end its clients and use one build";
    (void)reply_text(client, header.request_id, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, text);
    return text;
  }
  const bool one_way = header.type >= static_cast<uint16_t>(SimType::kStreamCreate);
  if (one_way != (header.request_id == 0)) return "request id does not suit the message type";
  const bool introduces = type == SimType::kHello || type == SimType::kObserve;
  if (client.known() == introduces) return "hello is missing or repeated";
  if (client.observer && type != SimType::kFigures && type != SimType::kFault)
    return "an observer may only ask for figures and faults";
  return dispatch(client, type, packet);
}

std::string MessageHandler::dispatch(Client& client, SimType type, Packet& packet) {
  const auto bytes = packet.bytes();
  switch (type) {
    case SimType::kHello:
      return hello(client, bytes);
    case SimType::kObserve:
      return observe(client, bytes);
    case SimType::kFigures:
      return figures(client, bytes);
    case SimType::kFault:
      return fault(client, bytes);
    case SimType::kPrintBuffer:
      return print_buffer(client, bytes);
    case SimType::kHeapLimit:
      return heap_limit(client, bytes);
    case SimType::kTrace:
      return trace(client, bytes);
    case SimType::kContextCreate:
      return context_create(client, bytes);
    case SimType::kContextDestroy:
      return context_destroy(client, bytes);
    case SimType::kMemAlloc:
      return mem_alloc(client, bytes);
    case SimType::kMemFree:
      return mem_free(client, bytes);
    case SimType::kMemInfo:
      return mem_info(client, bytes);
    case SimType::kHostMap:
      return host_map(client, packet);
    case SimType::kHostUnmap:
      return host_unmap(client, bytes);
    case SimType::kModuleLoad:
      return module_load(client, packet);
    case SimType::kModuleUnload:
      return module_unload(client, bytes);
    case SimType::kModuleGlobal:
      return module_global(client, bytes);
    case SimType::kMpsQuery:
      return mps_query(client, bytes);
    case SimType::kPeerAccess:
      return peer_access(client, bytes);
    case SimType::kPhysicalCreate:
      return physical_create(client, packet);
    case SimType::kPhysicalRelease:
      return physical_release(client, bytes);
    case SimType::kPhysicalMap:
      return physical_map(client, bytes);
    case SimType::kPhysicalUnmap:
      return physical_unmap(client, bytes);
    case SimType::kPhysicalAccess:
      return physical_access(client, bytes);
    case SimType::kPhysicalExport:
      return physical_export(client, bytes);
    case SimType::kPhysicalImport:
      return physical_import(client, packet);
    case SimType::kTextureCreate:
      return texture_create(client, bytes);
    case SimType::kTextureDestroy:
      return texture_destroy(client, bytes);
    case SimType::kStreamCreate:
      return stream_create(client, bytes);
    case SimType::kStreamDestroy:
      return stream_destroy(client, bytes);
    case SimType::kEventDestroy:
      return event_destroy(client, bytes);
    default:
      return type < SimType::kStreamCreate ? dispatch_pool(client, type, packet)
                                           : dispatch_op(client, type, bytes);
  }
}

// What the client expects and this server is not; empty: nothing.
std::string MessageHandler::mismatch(const HelloMsg& message) const {
  const std::string device = text_field(message.device, sizeof message.device);
  if (!device.empty() && find_device_model(device) != &device_)
    return "SIMGPU_DEVICE=" + device + ", but the running server simulates " + device_.spec.key +
           ": end its clients or use another SIMGPU_SOCKET";
  if (message.devices != 0 && message.devices != engines_.size())
    return "SIMGPU_DEVICES=" + std::to_string(message.devices) +
           ", but the running server simulates " + std::to_string(engines_.size()) +
           ": end its clients or use another SIMGPU_DIR";
  return {};
}

std::string MessageHandler::hello(Client& client, std::span<const uint8_t> bytes) {
  HelloMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  if (executor_.device_lost()) {
    (void)reply_text(client, message.header.request_id, CUDA_ERROR_NO_DEVICE, kDeviceLost);
    return kDeviceLost;
  }
  if (message.mps != 0 && mps_recovers(clients_)) {
    (void)reply_text(client, message.header.request_id, CUDA_ERROR_MPS_SERVER_NOT_READY, kMpsFault);
    return kMpsFault;
  }
  if (std::string text = mismatch(message); !text.empty()) {
    (void)reply_text(client, message.header.request_id, CUDA_ERROR_INVALID_DEVICE, text);
    return text;
  }
  client.label = text_field(message.label, sizeof message.label);
  client.mps = message.mps != 0;
  client.context_bytes =
      message.context_bytes == UINT64_MAX ? kContextBytes : message.context_bytes;
  client.module_bytes = message.module_bytes;
  if (message.pool_block_bytes != 0)
    client.pool_block_bytes =
        std::clamp(message.pool_block_bytes, kDeviceAlignment, device_.spec.memory_bytes);
  ClientConfig config;
  config.mps = client.mps;
  const uint32_t percent = message.mps_active_thread_percentage;
  if (client.mps && percent > 0 && percent < 100)
    config.sm_cap = std::max(1U, (device_.spec.sm_count * percent + 99) / 100);
  if (client.mps && message.mps_client_priority > 0) config.priority_offset = 1000;
  for (Engine& engine : engines_) client.engine_clients.push_back(engine.add_client(config));
  timeline_.add_client(client.id(), static_cast<int>(client.pid), client.label);
  place_stream_zero(client, 0);
  std::copy_n(message.mps_memory_limit, kMaxDevices, client.mps_memory_limit.begin());
  if (client.mps) tell_mps_joined(client, static_cast<uint32_t>(engines_.size()));
  return reply(client, message.header.request_id, CUDA_SUCCESS,
               {.value = engines_.size(), .text = device_.spec.key, .fd = client.page.fd()});
}

// Keeps it where it is when it has been used.
void MessageHandler::place_stream_zero(Client& client, uint32_t device) {
  StreamSlot& slot = client.streams[0];
  Engine& engine = engines_[device];
  if (slot.engine == &engine || slot.last_seq != 0) return;
  if (slot.engine != nullptr) slot.engine->remove_stream(slot.engine_stream);
  const uint32_t stream =
      engine.add_stream(client.engine_clients[device], 0, StreamKind::kLegacy, 0);
  slot = {&engine, stream, 0, 0, 0};
}

std::string MessageHandler::context_create(Client& client, std::span<const uint8_t> bytes) {
  ContextMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const Status added =
      client.memory.add_context(message.context, message.device, client.context_bytes);
  if (added && message.context == 0) place_stream_zero(client, message.device);
  return reply_status(client, message.header.request_id, added);
}

std::string MessageHandler::context_destroy(Client& client, std::span<const uint8_t> bytes) {
  ContextMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (!client.memory.has_context(message.context))
    return reply_text(client, id, CUDA_ERROR_INVALID_CONTEXT, "no such context");
  std::erase_if(client.streams, [&](const auto& entry) {
    if (entry.first == 0 || entry.second.context != message.context) return false;
    entry.second.engine->remove_stream(entry.second.engine_stream);
    return true;
  });
  std::erase_if(client.modules,
                [&](const auto& entry) { return entry.second->context == message.context; });
  client.heaps.erase(message.context);
  forget_textures(client, message.context);
  client.memory.remove_context(message.context);
  return reply(client, id, CUDA_SUCCESS);
}

std::string MessageHandler::module_load(Client& client, Packet& packet) {
  ModuleMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (!client.memory.has_context(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  const ClockPause pause(clock_);
  const auto ptx = read_ptx(packet.fd.get(), message.ptx_bytes);
  if (!ptx) return reply_status(client, id, ptx.error());
  const int target = device_.spec.compute_major * 10 + device_.spec.compute_minor;
  auto loaded = load_module(*ptx, target, message.context, client.memory);
  if (!loaded) return reply_status(client, id, loaded.error());
  if (message.max_registers != 0) loaded->program->limit_registers(message.max_registers);
  if (!charge_module(client, *loaded)) {
    unload_module(*loaded, client.memory);
    return reply_text(client, id, CUDA_ERROR_OUT_OF_MEMORY, "no device memory for the module");
  }
  loaded->id = next_module_++;
  const UniqueFd description = memfd_with(module_json(*loaded));
  if (!description.valid()) {
    unload_module(*loaded, client.memory);
    return reply_text(client, id, CUDA_ERROR_OUT_OF_MEMORY,
                      "no host memory for the module description");
  }
  const uint64_t module = loaded->id;
  client.modules[module] = std::make_shared<LoadedModule>(std::move(*loaded));
  return reply(client, id, CUDA_SUCCESS, {.value = module, .fd = description.get()});
}

bool MessageHandler::charge_module(const Client& client, LoadedModule& module) {
  if (client.module_bytes == 0) return true;
  DeviceMemory* device = client.memory.device_of(module.context);
  module.overhead = Backing::on_device(*device, client.module_bytes, client.pid);
  return module.overhead != nullptr;
}

std::string MessageHandler::module_unload(Client& client, std::span<const uint8_t> bytes) {
  ModuleMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const auto found = client.modules.find(message.module);
  if (found == client.modules.end())
    return reply(client, message.header.request_id, CUDA_ERROR_INVALID_HANDLE);
  unload_module(*found->second, client.memory);
  client.modules.erase(found);
  return reply(client, message.header.request_id, CUDA_SUCCESS);
}

std::string MessageHandler::module_global(Client& client, std::span<const uint8_t> bytes) {
  ModuleGlobalMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const auto found = client.modules.find(message.module);
  if (found == client.modules.end()) return reply(client, id, CUDA_ERROR_INVALID_HANDLE);
  const bool placed = place_managed(*found->second, message.global, message.address, client.memory);
  return reply(client, id, placed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

std::string MessageHandler::mps_query(Client& client, std::span<const uint8_t> bytes) {
  SimHeader header;
  if (bytes.size() < sizeof header) return kWrongSize;
  std::memcpy(&header, bytes.data(), sizeof header);
  return reply(client, header.request_id, CUDA_SUCCESS, {.value = client.mps ? 1U : 0U});
}

std::string MessageHandler::stream_create(Client& client, std::span<const uint8_t> bytes) {
  StreamMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  if (message.stream == 0 || message.stream >= kSimStreams || message.blocking > 2)
    return "stream id or kind out of range";
  if (client.streams.contains(message.stream)) return "stream id is in use";
  constexpr uint32_t kGreenGroup = 0x8000'0000U;
  const uint32_t order_group = message.group == 0 ? message.context : kGreenGroup | message.group;
  SmMask sms;
  for (uint32_t i = 0; i < device_.spec.sm_count; ++i)
    if ((message.sm_mask[i / 64] >> (i % 64) & 1) != 0) sms.add(i);
  const int32_t priority = std::clamp(message.priority, -5, 0);
  const DeviceMemory* memory = client.memory.device_of(message.context);
  const uint32_t device = memory == nullptr ? 0 : memory->index();
  Engine& engine = engines_[device];
  const uint32_t stream = engine.add_stream(client.engine_clients[device], order_group,
                                            kKinds[message.blocking], priority, sms);
  client.streams[message.stream] = {&engine, stream, message.context, priority, 0};
  return {};
}

std::string MessageHandler::stream_destroy(Client& client, std::span<const uint8_t> bytes) {
  StreamMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const auto found = client.streams.find(message.stream);
  if (message.stream == 0 || found == client.streams.end()) return "stream to destroy is not known";
  found->second.engine->remove_stream(found->second.engine_stream);
  client.streams.erase(found);
  return {};
}

std::string MessageHandler::event_destroy(Client& client, std::span<const uint8_t> bytes) {
  EventOp message;
  if (!parse(bytes, message)) return kWrongSize;
  client.events.erase(message.event);
  return {};
}

}  // namespace gacer::simdevice
