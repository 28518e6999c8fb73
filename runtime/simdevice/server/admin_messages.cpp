// SPDX-License-Identifier: Apache-2.0
// Messages of those who steer the device: failures on request.
#include <cuda.h>

#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {

// A client asks for itself, an observer (simgpu-ctl) for any process.
std::string MessageHandler::fault(Client& client, std::span<const uint8_t> bytes) {
  FaultMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  const pid_t pid = client.observer ? static_cast<pid_t>(message.pid) : client.pid;
  if (message.clear != 0) {
    executor_.faults().clear(pid);
    return reply(client, id, CUDA_SUCCESS);
  }
  const std::string rules(message.rules, ::strnlen(message.rules, sizeof message.rules));
  LaunchFault immediate;
  if (const Status added = executor_.faults().add(rules, pid, immediate); !added)
    return reply_text(client, id, CUDA_ERROR_INVALID_VALUE, added.error().message);
  if (immediate.lost) executor_.lose_device();
  for (const auto& [fd, other] : clients_)
    if (immediate.error != 0 && other->known() && (pid == kEveryProcess || other->pid == pid))
      executor_.fail(*other, immediate.error, immediate.text);
  return reply(client, id, CUDA_SUCCESS);
}

}  // namespace gacer::simdevice
