// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/tenant_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/shm/handshake.h"
#include "runtime/shm/segment_format.h"

namespace gacer::shm {
namespace {

// The greatest reply to a Hello.
union Reply {
  abi::MessageHeader header;
  abi::WelcomeMessage welcome;
  abi::RefusedMessage refused;
};

// Field 22; the command name (field 2) may hold spaces and parentheses, so count from its last ')'.
uint64_t start_time_ticks() {
  char text[1024];
  const UniqueFd stat(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = stat.valid() ? read(stat.get(), text, sizeof text - 1) : 0;
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

Error refusal(const Reply& reply) {
  const abi::RefusedMessage& refused = reply.refused;
  const std::string text(refused.text, strnlen(refused.text, sizeof refused.text));
  return Error{refused.code == 0 ? EPROTO : static_cast<int>(refused.code), text};
}

// RefusedMessage keeps its layout in all versions, so that a peer of another version can say why.
bool is_refusal(const Reply& reply, size_t bytes) {
  return bytes == sizeof(abi::RefusedMessage) && reply.header.magic == abi::kMessageMagic &&
         reply.header.type == static_cast<uint16_t>(abi::MessageType::kRefused);
}

Status check_welcome(const Reply& reply, const Packet& packet) {
  Status header =
      check_message(&reply, packet.bytes, abi::MessageType::kWelcome, sizeof(abi::WelcomeMessage));
  if (!header) return header;
  if (packet.fd_count != 2) return Error{EPROTO, "control message: welcome without its segments"};
  if (reply.welcome.segment_bytes != sizeof(abi::Segment) ||
      reply.welcome.board_bytes != sizeof(abi::Board))
    return Error{EPROTO, "control message: welcome describes segments of another layout"};
  return {};
}

Status map_segments(Packet& packet, Attachment& attachment) {
  auto segment =
      MemorySegment::open(std::move(packet.fds[0]), sizeof(abi::Segment), Access::kReadWrite);
  if (!segment) return segment.error();
  auto board = MemorySegment::open(std::move(packet.fds[1]), sizeof(abi::Board), Access::kReadOnly);
  if (!board) return board.error();
  if (Status checked = check_segment(*segment); !checked) return checked;
  if (Status checked = check_board(*board); !checked) return checked;
  attachment.segment_memory = std::move(segment).value();
  attachment.board_memory = std::move(board).value();
  attachment.segment_memory.close_fd();
  attachment.board_memory.close_fd();
  return {};
}

}  // namespace

abi::HelloMessage make_hello() {
  auto hello = make_message<abi::HelloMessage>(abi::MessageType::kHello);
  hello.weight = 1;
  hello.start_time_ticks = start_time_ticks();
  const ssize_t length = readlink("/proc/self/exe", hello.executable, sizeof hello.executable - 1);
  if (length < 0) hello.executable[0] = '\0';
  return hello;
}

Result<Attachment> attach(const std::string& socket_path, const abi::HelloMessage& hello,
                          uint32_t timeout_ms) {
  auto socket = connect_socket(socket_path, timeout_ms);
  if (!socket) return socket.error();
  if (const Status sent = send_packet(socket->get(), &hello, sizeof hello); !sent)
    return sent.error();
  Reply reply{};
  auto packet = receive_packet(socket->get(), &reply, sizeof reply);
  if (!packet) return packet.error();
  if (is_refusal(reply, packet->bytes)) return refusal(reply);
  if (const Status checked = check_welcome(reply, *packet); !checked) return checked.error();
  Attachment attachment;
  if (const Status mapped = map_segments(*packet, attachment); !mapped) return mapped.error();
  attachment.socket = std::move(socket).value();
  attachment.tenant_id = reply.welcome.tenant_id;
  attachment.process_id = reply.welcome.process_id;
  return attachment;
}

Result<MemoryGrant> reserve_memory(int socket, uint64_t bytes) {
  auto request = make_message<abi::MemoryMessage>(abi::MessageType::kMemReserve);
  request.bytes = bytes;
  if (const Status sent = send_packet(socket, &request, sizeof request); !sent) return sent.error();
  abi::MemoryMessage reply{};
  auto packet = receive_packet(socket, &reply, sizeof reply);
  if (!packet) return packet.error();
  const Status checked =
      check_message(&reply, packet->bytes, abi::MessageType::kMemReply, sizeof reply);
  if (!checked) return checked.error();
  return MemoryGrant{reply.granted == 1, reply.tenant_used_bytes, reply.tenant_limit_bytes};
}

Status release_memory(int socket, uint64_t bytes) {
  auto message = make_message<abi::MemoryMessage>(abi::MessageType::kMemRelease);
  message.bytes = bytes;
  return send_packet(socket, &message, sizeof message);
}

}  // namespace gacer::shm
