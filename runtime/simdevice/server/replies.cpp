// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/replies.h"

#include <cuda.h>

#include "runtime/simdevice/server/packet_socket.h"

namespace gacer::simdevice {

std::string reply(Client& client, uint32_t request_id, int error, const Answer& answer) {
  ReplyMsg message{};
  message.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(SimType::kReply), sizeof message,
                    request_id};
  message.error = error;
  message.detail = answer.detail;
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

std::string reply_status(Client& client, uint32_t request_id, const Status& status) {
  return status ? reply(client, request_id, CUDA_SUCCESS)
                : reply_text(client, request_id, status.error().code, status.error().message);
}

}  // namespace gacer::simdevice
