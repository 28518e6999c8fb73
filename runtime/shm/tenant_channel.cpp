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
  std::string text(refused.text, strnlen(refused.text, sizeof refused.text));
  if (text.empty()) text = "refused by gacerd, without a reason";
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

Result<MemoryGrant> receive_grant(int socket) {
  union {
    abi::MemoryMessage grant;
    Reply refusal;
  } reply{};
  auto packet = receive_packet(socket, &reply, sizeof reply);
  if (!packet) return packet.error();
  if (is_refusal(reply.refusal, packet->bytes)) return refusal(reply.refusal);
  const Status checked =
      check_message(&reply, packet->bytes, abi::MessageType::kMemReply, sizeof(abi::MemoryMessage));
  if (!checked) return checked.error();
  return MemoryGrant{reply.grant.granted == 1, reply.grant.tenant_used_bytes,
                     reply.grant.tenant_limit_bytes, reply.grant.tenant_overhead_bytes};
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

Result<MemoryGrant> reserve_memory(int socket, uint64_t bytes, const abi::DeviceUuid& device,
                                   abi::MemoryKind kind) {
  auto request = make_message<abi::MemoryMessage>(abi::MessageType::kMemReserve);
  request.bytes = bytes;
  request.kind = static_cast<uint32_t>(kind);
  request.device_uuid = device;
  if (const Status sent = send_packet(socket, &request, sizeof request); !sent) return sent.error();
  return receive_grant(socket);
}

Status release_memory(int socket, uint64_t bytes, const abi::DeviceUuid& device,
                      abi::MemoryKind kind) {
  auto message = make_message<abi::MemoryMessage>(abi::MessageType::kMemRelease);
  message.bytes = bytes;
  message.kind = static_cast<uint32_t>(kind);
  message.device_uuid = device;
  return send_packet(socket, &message, sizeof message);
}

Result<MemoryGrant> query_memory(const std::string& socket_path, const std::string& tenant,
                                 const abi::DeviceUuid& device) {
  auto query = make_message<abi::MemoryQueryMessage>(abi::MessageType::kMemQuery);
  if (tenant.empty() || tenant.size() >= sizeof query.tenant)
    return Error{EINVAL, "memory query: tenant name must have 1 to 63 characters"};
  tenant.copy(query.tenant, sizeof query.tenant - 1);
  query.device_uuid = device;
  auto socket = connect_socket(socket_path, kQueryTimeoutMs);
  if (!socket) return socket.error();
  if (const Status sent = send_packet(socket->get(), &query, sizeof query); !sent)
    return sent.error();
  auto grant = receive_grant(socket->get());
  if (grant && !grant->granted)
    return Error{ENOENT,
                 "gacerd knows no tenant " + tenant + ": none of its processes is attached"};
  return grant;
}

}  // namespace gacer::shm
