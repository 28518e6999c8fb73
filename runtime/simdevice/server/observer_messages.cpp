// SPDX-License-Identifier: Apache-2.0
// Messages of observers (NVML), and of clients that are traced (CUPTI).
#include <cuda.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/packet_socket.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {

std::string MessageHandler::observe(Client& client, std::span<const uint8_t> bytes) {
  ObserveMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  client.observer = true;
  return reply(client, message.header.request_id, CUDA_SUCCESS,
               {.value = engines_.size(), .text = device_.spec.key});
}

std::string MessageHandler::figures(Client& client, std::span<const uint8_t> bytes) {
  ObserveMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  if (message.device >= engines_.size())
    return reply(client, message.header.request_id, CUDA_ERROR_INVALID_DEVICE);
  const std::vector<ProcessFigures> processes = process_figures(message.device);
  const uint64_t now_ns = clock_.now_ns();
  DeviceUsage& usage = executor_.usage(&engines_[message.device]);
  FiguresReply reply{};
  const size_t process_bytes = processes.size() * sizeof(ProcessFigures);
  reply.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(SimType::kFiguresReply),
                  static_cast<uint32_t>(sizeof reply + process_bytes), message.header.request_id};
  reply.device = message.device;
  reply.processes = static_cast<uint32_t>(processes.size());
  reply.total_bytes = memory_[message.device].total_bytes();
  reply.free_bytes = memory_[message.device].free_bytes();
  reply.busy_ns = usage.busy_ns(now_ns);
  reply.memory_bytes = usage.memory_bytes(now_ns);
  reply.window_ns = usage.window_ns();
  reply.model_ns = now_ns;
  std::vector<uint8_t> packet(reply.header.bytes);
  std::memcpy(packet.data(), &reply, sizeof reply);
  if (process_bytes > 0) std::memcpy(packet.data() + sizeof reply, processes.data(), process_bytes);
  return send_packet(client.socket.get(), packet, -1) ? "" : "it does not read its replies";
}

std::vector<ProcessFigures> MessageHandler::process_figures(uint32_t device) {
  std::vector<ProcessFigures> processes;
  DeviceUsage& usage = executor_.usage(&engines_[device]);
  for (const auto& [fd, client] : clients_) {
    if (!client->memory.has_context_on(device) || processes.size() == kMaxFiguresProcesses)
      continue;
    processes.push_back({static_cast<uint32_t>(client->pid), client->mps ? 1U : 0U,
                         memory_[device].used_bytes(client->pid),
                         usage.busy_ns(client.get(), clock_.now_ns())});
  }
  std::sort(processes.begin(), processes.end(),
            [](const ProcessFigures& a, const ProcessFigures& b) { return a.pid < b.pid; });
  return processes;
}

std::string MessageHandler::trace(Client& client, std::span<const uint8_t> bytes) {
  TraceMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const SimHeader& header = message.header;
  client.tracing = message.enable != 0;
  if (client.trace == nullptr) {
    auto ring = TraceRing::create();
    if (!ring) {
      log_line(LogLevel::kError, "simgpu-server", "%s", ring.error().message.c_str());
      client.tracing = false;
      return reply(client, header.request_id, CUDA_ERROR_OUT_OF_MEMORY);
    }
    client.trace = std::make_unique<TraceRing>(std::move(*ring));
  }
  return reply(client, header.request_id, CUDA_SUCCESS, {.fd = client.trace->fd()});
}

}  // namespace gacer::simdevice
