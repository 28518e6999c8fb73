// SPDX-License-Identifier: Apache-2.0
// Packets on the control socket (SOCK_SEQPACKET): exact sizes, up to four descriptors, peer
// identity. Nothing here throws or raises SIGPIPE; descriptors are close-on-exec. One thread at a
// time per socket. Error codes are errno values: EAGAIN when a non-blocking socket or a socket
// time-out had nothing, ECONNRESET when the peer closed, EPROTO for malformed packets. Source:
// unix(7), cmsg(3), pidfd_open(2).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "runtime/abi/control_messages.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::shm {

inline constexpr size_t kMaxPassedFds = 4;

struct Packet {
  size_t bytes = 0;  // never 0
  size_t fd_count = 0;
  std::array<UniqueFd, kMaxPassedFds> fds;
};

struct PeerIdentity {
  pid_t pid = 0;  // 0: of a pid namespace that is not visible here
  uid_t uid = 0;
  gid_t gid = 0;
};

// Connects within timeout_ms, which stays the socket's send and receive time-out. ENOENT,
// ECONNREFUSED: no daemon; the text says which path was tried.
Result<UniqueFd> connect_socket(const std::string& path, uint32_t timeout_ms);

Status send_packet(int socket, const void* data, size_t bytes, std::initializer_list<int> fds = {});
Result<Packet> receive_packet(int socket, void* buffer, size_t capacity);

// SO_PEERCRED: who called connect().
Result<PeerIdentity> peer_identity(int socket);
// A pidfd of the peer: readable when that process has ended. Invalid fd where the kernel has none.
UniqueFd open_peer_pidfd(int socket, pid_t pid);

// magic, version, type, exact size; in this order, so that a peer of another version gets a version
// error.
Status check_message(const void* data, size_t bytes, abi::MessageType type, size_t expected_bytes);
// The first two of these, for a reader that dispatches on the type.
Status check_header(const void* data, size_t bytes);

template <typename Message>
Message make_message(abi::MessageType type) {
  Message message{};
  message.header = {abi::kMessageMagic, abi::kAbiVersion, static_cast<uint16_t>(type), 0,
                    static_cast<uint32_t>(sizeof(Message))};
  return message;
}

}  // namespace gacer::shm
