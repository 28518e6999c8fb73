// SPDX-License-Identifier: Apache-2.0
// Packets of a hostile peer. Input: one byte of kind, two of length, then the packet's bytes;
// again. Odd kinds get a proper header put in front, so that what lies behind the header check is
// reached too.
#include <sys/socket.h>
#include <unistd.h>

#include <iterator>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/daemon/session.h"
#include "runtime/shm/tenant_channel.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

using abi::MessageType;
using daemon::Session;

constexpr size_t kMaxPacket = 8192;

size_t body_bytes(MessageType type, size_t wanted) {
  if (type == MessageType::kHello) return sizeof(abi::HelloMessage) - sizeof(abi::MessageHeader);
  if (type == MessageType::kMemReserve || type == MessageType::kMemRelease)
    return sizeof(abi::MemoryMessage) - sizeof(abi::MessageHeader);
  if (type == MessageType::kMemQuery)
    return sizeof(abi::MemoryQueryMessage) - sizeof(abi::MessageHeader);
  return wanted;
}

size_t add_header(unsigned char* packet, MessageType type, size_t body) {
  abi::MessageHeader header{abi::kMessageMagic, abi::kAbiVersion, static_cast<uint16_t>(type), 0,
                            static_cast<uint32_t>(sizeof header + body)};
  memcpy(packet, &header, sizeof header);
  return header.bytes;
}

size_t typed_packet(Input& input, unsigned char* packet, unsigned choice, size_t wanted) {
  const auto type = static_cast<MessageType>(1 + choice % 9);
  const size_t body = body_bytes(type, wanted % (kMaxPacket - sizeof(abi::MessageHeader)));
  input.take(packet + sizeof(abi::MessageHeader), body);
  return add_header(packet, type, body);
}

size_t proper_hello(Input& input, unsigned char* packet) {
  abi::HelloMessage hello = shm::make_hello();
  hello.tenant[0] = static_cast<char>('a' + input.value<uint8_t>() % 26);
  hello.tenant_class = input.value<uint8_t>() % 2;
  hello.memory_limit_bytes = input.value<uint64_t>();
  hello.memory_in_use_bytes = input.value<uint64_t>();
  memcpy(packet, &hello, sizeof hello);
  return sizeof hello;
}

size_t proper_request(Input& input, unsigned char* packet, unsigned choice) {
  constexpr const char* kStarts[] = {"status",
                                     "policy ",
                                     "policy priority",
                                     "tune ",
                                     "tune window_us=",
                                     "tune max_wait_ms=1",
                                     "limit a=",
                                     "unmanaged 1 a a",
                                     "version",
                                     "shutdown",
                                     ""};
  const std::string_view start = kStarts[choice % std::size(kStarts)];
  unsigned char* text = packet + sizeof(abi::MessageHeader);
  start.copy(reinterpret_cast<char*>(text), start.size());
  const size_t more = input.value<uint8_t>() % 8;
  input.take(text + start.size(), more);
  return add_header(packet, MessageType::kAdmin, start.size() + more);
}

// The next packet of the input into `packet`; its size.
size_t next_packet(Input& input, unsigned char* packet) {
  const auto kind = input.value<uint8_t>();
  const size_t wanted = input.value<uint16_t>() % kMaxPacket;
  switch (kind % 4) {
    case 0:
      return input.take(packet, wanted);
    case 1:
      return typed_packet(input, packet, kind / 4, wanted);
    case 2:
      return proper_hello(input, packet);
    default:
      return proper_request(input, packet, kind / 4);
  }
}

void drain(int socket) {
  unsigned char reply[abi::kMaxAdminBytes];
  while (recv(socket, reply, sizeof reply, MSG_DONTWAIT) > 0) {
  }
}

void run(Input input) {
  auto table = std::move(daemon::TenantTable::create(regulator::Regulator::create())).value();
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "pair");
  const UniqueFd peer(ends[0]);
  Session session(UniqueFd(ends[1]), {getpid(), geteuid(), 0}, *table, 1);
  static unsigned char packet[kMaxPacket];
  uint64_t now_ns = 1;
  auto next = Session::Next::kKeep;
  while (!input.empty() && next == Session::Next::kKeep) {
    const size_t bytes = next_packet(input, packet);
    if (bytes == 0 || send(peer.get(), packet, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) continue;
    next = session.on_readable({}, ++now_ns);
    drain(peer.get());
  }
  session.end(++now_ns);
  require(table->next_tick_ns() == UINT64_MAX, "a session's end leaves no process behind");
  require(table->core().snapshot().tenants.empty(), "a session's end leaves no tenant behind");
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gacer::set_log_level(gacer::LogLevel::kError);
  gacer::fuzz::run(gacer::fuzz::Input(data, size));
  return 0;
}
