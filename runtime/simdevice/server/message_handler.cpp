// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/message_handler.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/log.h"
#include "runtime/simdevice/mps/mps_socket.h"
#include "runtime/simdevice/server/message_parse.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMostPtxBytes = 256ULL << 20;
// By StreamMsg::blocking.
constexpr StreamKind kKinds[] = {StreamKind::kNonBlocking, StreamKind::kBlocking,
                                 StreamKind::kLegacy};

struct Answer {
  uint64_t value = 0;
  uint64_t value2 = 0;
  std::string_view text = {};
  int fd = -1;
};

std::string reply(Client& client, uint32_t request_id, int error, const Answer& answer = {}) {
  ReplyMsg message{};
  message.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(SimType::kReply), sizeof message,
                    request_id};
  message.error = error;
  message.value = answer.value;
  message.value2 = answer.value2;
  answer.text.copy(message.text, sizeof message.text - 1);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&message);
  const bool sent = send_packet(client.socket.get(), {bytes, sizeof message}, answer.fd);
  return sent ? "" : "it does not read its replies";
}

std::string reply_text(Client& client, uint32_t request_id, int error, std::string_view text) {
  return reply(client, request_id, error, {.text = text});
}

std::string reply_error(Client& client, uint32_t request_id, const Error& error) {
  return reply_text(client, request_id, error.code, error.message);
}

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
  while (!text.empty() && text.back() == '\0') text.pop_back();
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
  if ((client.engine_client == 0) != (type == SimType::kHello))
    return "hello is missing or repeated";
  return dispatch(client, type, packet);
}

std::string MessageHandler::dispatch(Client& client, SimType type, Packet& packet) {
  const auto bytes = packet.bytes();
  switch (type) {
    case SimType::kHello:
      return hello(client, bytes);
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
    case SimType::kMpsQuery:
      return mps_query(client, bytes);
    case SimType::kStreamCreate:
      return stream_create(client, bytes);
    case SimType::kStreamDestroy:
      return stream_destroy(client, bytes);
    case SimType::kEventDestroy:
      return event_destroy(client, bytes);
    default:
      return dispatch_op(client, type, bytes);
  }
}

std::string MessageHandler::hello(Client& client, std::span<const uint8_t> bytes) {
  HelloMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const std::string device = text_field(message.device, sizeof message.device);
  if (!device.empty() && find_device_model(device) != &device_) {
    std::string text = "SIMGPU_DEVICE=" + device + ", but the running server simulates " +
                       device_.spec.key + ": end its clients or use another SIMGPU_SOCKET";
    (void)reply_text(client, message.header.request_id, CUDA_ERROR_INVALID_DEVICE, text);
    return text;
  }
  client.label = text_field(message.label, sizeof message.label);
  client.mps = message.mps != 0;
  ClientConfig config;
  config.mps = client.mps;
  const uint32_t percent = message.mps_active_thread_percentage;
  if (client.mps && percent > 0 && percent < 100)
    config.sm_cap = std::max(1U, (device_.spec.sm_count * percent + 99) / 100);
  if (client.mps && message.mps_client_priority > 0) config.priority_offset = 1000;
  client.engine_client = engine_.add_client(config);
  timeline_.add_client(client.engine_client, static_cast<int>(client.pid), client.label);
  ensure_legacy_stream(client);
  if (client.mps)
    (void)mps_command(mps_pipe_directory(), "server_started " + std::to_string(::getpid()));
  return reply(client, message.header.request_id, CUDA_SUCCESS,
               {.text = device_.spec.key, .fd = client.page.fd()});
}

void MessageHandler::ensure_legacy_stream(Client& client) {
  if (client.streams.contains(0)) return;
  const uint32_t stream = engine_.add_stream(client.engine_client, 0, StreamKind::kLegacy, 0);
  client.streams[0] = {stream, 0, 0, 0};
}

std::string MessageHandler::context_create(Client& client, std::span<const uint8_t> bytes) {
  ContextMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (client.contexts.contains(message.context))
    return reply_text(client, id, CUDA_ERROR_INVALID_VALUE, "context exists already");
  if (!memory_.charge(kContextBytes))
    return reply_text(client, id, CUDA_ERROR_OUT_OF_MEMORY, "no device memory for another context");
  client.memory.add_context_charge(kContextBytes);
  client.contexts.insert(message.context);
  return reply(client, id, CUDA_SUCCESS);
}

std::string MessageHandler::context_destroy(Client& client, std::span<const uint8_t> bytes) {
  ContextMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (client.contexts.erase(message.context) == 0)
    return reply_text(client, id, CUDA_ERROR_INVALID_CONTEXT, "no such context");
  std::erase_if(client.streams, [&](const auto& entry) {
    if (entry.first == 0 || entry.second.context != message.context) return false;
    engine_.remove_stream(entry.second.engine_stream);
    return true;
  });
  std::erase_if(client.modules,
                [&](const auto& entry) { return entry.second->context == message.context; });
  client.memory.free_context(message.context);
  client.memory.remove_context_charge(kContextBytes);
  return reply(client, id, CUDA_SUCCESS);
}

std::string MessageHandler::mem_alloc(Client& client, std::span<const uint8_t> bytes) {
  MemAllocMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (message.bytes == 0) return reply(client, id, CUDA_ERROR_INVALID_VALUE);
  if (!client.contexts.contains(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
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
  SimHeader header;
  if (bytes.size() < sizeof header) return kWrongSize;
  std::memcpy(&header, bytes.data(), sizeof header);
  return reply(client, header.request_id, CUDA_SUCCESS,
               {.value = memory_.free_bytes(), .value2 = memory_.total_bytes()});
}

std::string MessageHandler::host_map(Client& client, Packet& packet) {
  HostMapMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const Status mapped = client.memory.map_host(
      message.address, message.bytes, message.charge_device_memory != 0, std::move(packet.fd));
  if (!mapped) return reply_error(client, message.header.request_id, mapped.error());
  return reply(client, message.header.request_id, CUDA_SUCCESS);
}

std::string MessageHandler::host_unmap(Client& client, std::span<const uint8_t> bytes) {
  HostMapMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const bool known = client.memory.unmap_host(message.address);
  return reply(client, message.header.request_id, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

std::string MessageHandler::module_load(Client& client, Packet& packet) {
  ModuleMsg message;
  if (!parse(packet.bytes(), message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (!client.contexts.contains(message.context))
    return reply(client, id, CUDA_ERROR_INVALID_CONTEXT);
  const ClockPause pause(clock_);
  const auto ptx = read_ptx(packet.fd.get(), message.ptx_bytes);
  if (!ptx) return reply_error(client, id, ptx.error());
  const int target = device_.spec.compute_major * 10 + device_.spec.compute_minor;
  auto loaded = load_module(*ptx, target, message.context, client.memory);
  if (!loaded) return reply_error(client, id, loaded.error());
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
  const int32_t priority = std::clamp(message.priority, -5, 0);
  const uint32_t stream =
      engine_.add_stream(client.engine_client, message.context, kKinds[message.blocking], priority);
  client.streams[message.stream] = {stream, message.context, priority, 0};
  return {};
}

std::string MessageHandler::stream_destroy(Client& client, std::span<const uint8_t> bytes) {
  StreamMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const auto found = client.streams.find(message.stream);
  if (message.stream == 0 || found == client.streams.end()) return "stream to destroy is not known";
  engine_.remove_stream(found->second.engine_stream);
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
