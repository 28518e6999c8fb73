// SPDX-License-Identifier: Apache-2.0
#include "tools/control_client.h"

#include <cstring>

#include "runtime/abi/control_messages.h"
#include "runtime/shm/handshake.h"
#include "tools/command.h"

namespace gacer::tools {
namespace {

constexpr uint32_t kTimeoutMs = 5000;

std::string packet_of(const std::string& text) {
  abi::MessageHeader header{abi::kMessageMagic, abi::kAbiVersion,
                            static_cast<uint16_t>(abi::MessageType::kAdmin), 0,
                            static_cast<uint32_t>(sizeof header + text.size())};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + text;
}

void throw_refusal(const std::string& packet) {
  abi::RefusedMessage refused{};
  memcpy(&refused, packet.data(), sizeof refused);
  throw ToolError(kExitRefused,
                  std::string(refused.text, strnlen(refused.text, sizeof refused.text)));
}

// RefusedMessage has one layout in all versions: a daemon of another version can still say so.
bool is_refusal(const std::string& packet) {
  abi::MessageHeader header{};
  if (packet.size() != sizeof(abi::RefusedMessage)) return false;
  memcpy(&header, packet.data(), sizeof header);
  return header.magic == abi::kMessageMagic &&
         header.type == static_cast<uint16_t>(abi::MessageType::kRefused);
}

std::string body_of(const std::string& packet) {
  if (is_refusal(packet)) throw_refusal(packet);
  const Status checked = shm::check_message(packet.data(), packet.size(),
                                            abi::MessageType::kAdminReply, packet.size());
  if (!checked) throw ToolError(kExitRefused, checked.error().message);
  const std::string text = packet.substr(sizeof(abi::MessageHeader));
  if (text.rfind("error ", 0) == 0) throw ToolError(kExitRefused, text.substr(6));
  const size_t line_end = text.find('\n');
  return line_end == std::string::npos ? "" : text.substr(line_end + 1);
}

}  // namespace

ControlClient::ControlClient(const std::string& socket_path) {
  auto socket = shm::connect_socket(socket_path, kTimeoutMs);
  if (!socket)
    throw ToolError(kExitNoDaemon, "no gacerd answers at " + socket_path + " (" +
                                       strerror(socket.error().code) +
                                       "); start one with 'gacerd' or 'gacer run', or name "
                                       "another --socket");
  socket_ = std::move(socket).value();
}

std::optional<ControlClient> ControlClient::try_connect(const std::string& socket_path) {
  auto socket = shm::connect_socket(socket_path, kTimeoutMs);
  if (!socket) return std::nullopt;
  return ControlClient(std::move(socket).value());
}

std::string ControlClient::request(const std::string& text) {
  const std::string packet = packet_of(text);
  if (const Status sent = shm::send_packet(socket_.get(), packet.data(), packet.size()); !sent)
    throw ToolError(kExitNoDaemon, sent.error().message);
  std::string reply(abi::kMaxAdminBytes, '\0');
  const auto received = shm::receive_packet(socket_.get(), reply.data(), reply.size());
  if (!received) throw ToolError(kExitNoDaemon, received.error().message);
  reply.resize(received->bytes);
  return body_of(reply);
}

void ControlClient::wait_closed() {
  char byte = 0;
  while (shm::receive_packet(socket_.get(), &byte, sizeof byte)) {
  }
}

}  // namespace gacer::tools
