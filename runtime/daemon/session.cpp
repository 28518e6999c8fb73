// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/shm/tenant_fields.h"

namespace gacer::daemon {
namespace {

using abi::MessageType;

// One peer's turn; the socket stays readable, so the rest comes after the others' turns.
constexpr int kPacketsPerTurn = 32;

Status check_peer(const shm::PeerIdentity& peer) {
  if (peer.uid == geteuid() || peer.uid == 0) return {};
  return Error{EACCES, "this gacerd serves uid " + std::to_string(geteuid()) + ", not uid " +
                           std::to_string(peer.uid) + "; start one of your own"};
}

std::string admin_packet(const std::string& text) {
  auto header = shm::make_message<abi::RefusedMessage>(MessageType::kAdminReply).header;
  header.bytes = static_cast<uint32_t>(sizeof header + text.size());
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  return packet + text;
}

bool is_text(const unsigned char* text, size_t bytes) {
  return std::all_of(text, text + bytes, [](unsigned char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

Session::Next Session::on_readable(const DaemonFacts& facts, uint64_t now_ns) {
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    const auto packet = shm::receive_packet(socket_.get(), buffer_, sizeof buffer_);
    if (!packet && packet.error().code == EAGAIN) return Next::kKeep;
    if (!packet && packet.error().code == EPROTO) return refuse(packet.error());
    if (!packet) return Next::kClose;
    const Next next = on_packet(packet->bytes, facts, now_ns);
    if (next != Next::kKeep) return next;
  }
  return Next::kKeep;
}

void Session::end(uint64_t now_ns, bool process_lives_on) {
  if (process_id_ == 0) return;
  log_line(LogLevel::kInfo, "gacerd", "process %d detached", peer_.pid);
  table_->detach(process_id_, now_ns, process_lives_on);
  process_id_ = 0;
}

uint16_t Session::message_type() const {
  abi::MessageHeader header{};
  memcpy(&header, buffer_, sizeof header);
  return header.type;
}

Session::Next Session::on_packet(size_t bytes, const DaemonFacts& facts, uint64_t now_ns) {
  if (const Status header = shm::check_header(buffer_, bytes); !header)
    return refuse(header.error());
  switch (role_) {
    case Role::kNew:
      return on_first(bytes, facts, now_ns);
    case Role::kTenant:
      return on_memory(bytes);
    case Role::kTool:
      return on_tool(bytes, facts);
  }
  return Next::kClose;
}

Session::Next Session::on_first(size_t bytes, const DaemonFacts& facts, uint64_t now_ns) {
  // Only now: closing a socket with an unread packet would cost the peer the refusal.
  if (const Status allowed = check_peer(peer_); !allowed) return refuse(allowed.error());
  const auto type = static_cast<MessageType>(message_type());
  if (type == MessageType::kAdmin || type == MessageType::kMemQuery) {
    role_ = Role::kTool;
    return on_tool(bytes, facts);
  }
  return on_hello(bytes, now_ns);
}

Session::Next Session::on_hello(size_t bytes, uint64_t now_ns) {
  const auto request = check_hello(buffer_, bytes);
  if (!request) return refuse(request.error());
  const auto process = table_->attach(*request, peer_.uid, peer_.pid, now_ns);
  if (!process) return refuse(process.error());
  role_ = Role::kTenant;
  process_id_ = (*process)->identity().process_id;
  log_line(LogLevel::kInfo, "gacerd", "process %d attached as tenant %s", peer_.pid,
           request->config.name.c_str());
  return welcome(**process);
}

Session::Next Session::welcome(TenantProcess& process) {
  auto message = shm::make_message<abi::WelcomeMessage>(MessageType::kWelcome);
  message.tenant_id = process.identity().tenant_id;
  message.process_id = process.identity().process_id;
  message.segment_bytes = sizeof(abi::Segment);
  message.board_bytes = sizeof(abi::Board);
  const Status sent = shm::send_packet(socket_.get(), &message, sizeof message,
                                       {process.segment_fd(), table_->board_fd()});
  process.close_segment_fd();
  return sent ? Next::kKeep : Next::kClose;
}

Session::Next Session::on_memory(size_t bytes) {
  abi::MemoryMessage request{};
  const auto type = static_cast<MessageType>(message_type());
  const bool known = type == MessageType::kMemReserve || type == MessageType::kMemRelease;
  if (!known || bytes != sizeof request)
    return refuse(Error{EPROTO, "control message: not a memory request"});
  memcpy(&request, buffer_, sizeof request);
  if (request.kind > static_cast<uint32_t>(abi::MemoryKind::kOverhead))
    return refuse(Error{EPROTO, "control message: unknown kind of memory"});
  const auto kind = static_cast<abi::MemoryKind>(request.kind);
  if (type == MessageType::kMemRelease) {
    table_->release_memory(process_id_, request.device_uuid, request.bytes, kind);
    return Next::kKeep;
  }
  return send_grant(request.bytes, reserve(request));
}

MemoryAnswer Session::reserve(const abi::MemoryMessage& request) {
  const auto kind = static_cast<abi::MemoryKind>(request.kind);
  const auto ask = [&] {
    return table_->reserve_memory(process_id_, request.device_uuid, request.bytes, kind);
  };
  const MemoryAnswer answer = ask();
  if (answer.granted || !settle_) return answer;
  settle_();
  return ask();
}

void Session::take_releases() {
  constexpr int kMostReleases = 4096;
  abi::MemoryMessage message{};
  for (int i = 0; role_ == Role::kTenant && i < kMostReleases; ++i) {
    const ssize_t bytes =
        recv(socket_.get(), &message, sizeof message, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    const auto release = static_cast<uint16_t>(MessageType::kMemRelease);
    if (bytes != sizeof message || message.header.type != release ||
        message.header.magic != abi::kMessageMagic || message.header.version != abi::kAbiVersion)
      return;
    if (recv(socket_.get(), &message, sizeof message, MSG_DONTWAIT) != sizeof message) return;
    const bool overhead = message.kind == static_cast<uint32_t>(abi::MemoryKind::kOverhead);
    table_->release_memory(process_id_, message.device_uuid, message.bytes,
                           overhead ? abi::MemoryKind::kOverhead : abi::MemoryKind::kAllocation);
  }
}

Session::Next Session::send_grant(uint64_t bytes, const MemoryAnswer& answer) {
  auto reply = shm::make_message<abi::MemoryMessage>(MessageType::kMemReply);
  reply.bytes = bytes;
  reply.granted = answer.granted ? 1 : 0;
  reply.tenant_used_bytes = answer.tenant_used_bytes;
  reply.tenant_limit_bytes = answer.tenant_limit_bytes;
  reply.tenant_overhead_bytes = answer.tenant_overhead_bytes;
  return shm::send_packet(socket_.get(), &reply, sizeof reply) ? Next::kKeep : Next::kClose;
}

Session::Next Session::on_tool(size_t bytes, const DaemonFacts& facts) {
  const bool query = message_type() == static_cast<uint16_t>(MessageType::kMemQuery);
  return query ? on_query(bytes) : on_admin(bytes, facts);
}

Session::Next Session::on_query(size_t bytes) {
  abi::MemoryQueryMessage query{};
  if (bytes != sizeof query) return refuse(Error{EPROTO, "control message: not a memory query"});
  memcpy(&query, buffer_, sizeof query);
  const std::string_view tenant(query.tenant, strnlen(query.tenant, sizeof query.tenant));
  if (!shm::is_tenant_name(tenant))
    return refuse(Error{EINVAL, "memory query: unusable tenant name"});
  return send_grant(0, table_->query_memory(tenant, peer_.uid, query.device_uuid));
}

Session::Next Session::on_admin(size_t bytes, const DaemonFacts& facts) {
  const unsigned char* text = buffer_ + sizeof(abi::MessageHeader);
  const size_t text_bytes = bytes - sizeof(abi::MessageHeader);
  if (message_type() != static_cast<uint16_t>(MessageType::kAdmin) || !is_text(text, text_bytes))
    return refuse(Error{EPROTO, "control message: not a request of printable text"});
  const std::string_view request(reinterpret_cast<const char*>(text), text_bytes);
  const AdminAnswer answer = answer_admin(request, *table_, facts);
  const std::string packet = admin_packet(answer.text);
  if (!shm::send_packet(socket_.get(), packet.data(), packet.size())) return Next::kClose;
  return answer.shutdown ? Next::kShutdown : Next::kKeep;
}

Session::Next Session::refuse(const Error& why) {
  log_line(LogLevel::kWarn, "gacerd", "refused pid %d: %s", peer_.pid, why.message.c_str());
  auto message = shm::make_message<abi::RefusedMessage>(MessageType::kRefused);
  message.daemon_version = abi::kAbiVersion;
  message.code = static_cast<uint32_t>(why.code == 0 ? EPROTO : why.code);
  why.message.copy(message.text, sizeof message.text - 1);
  // Closed either way; a peer that does not read its socket misses the text only.
  [[maybe_unused]] const Status sent = shm::send_packet(socket_.get(), &message, sizeof message);
  return Next::kClose;
}

}  // namespace gacer::daemon
