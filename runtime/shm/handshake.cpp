// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/handshake.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/shm/segment_format.h"

#ifndef SO_PEERPIDFD  // Linux 6.5; older C libraries do not name it
#define SO_PEERPIDFD 77
#endif

namespace gacer::shm {
namespace {

Error os_error(const std::string& what) {
  const int code = errno;
  return Error{code, what + ": " + strerror(code)};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error{ENAMETOOLONG, "control socket path '" + path + "' must have 1 to " +
                                   std::to_string(sizeof address.sun_path - 1) + " characters"};
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

void set_timeouts(int socket, uint32_t timeout_ms) {
  const timeval limit{static_cast<time_t>(timeout_ms / 1000),
                      static_cast<suseconds_t>(timeout_ms % 1000) * 1000};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// A host with a fast interval timer would start a time-out over and over: interrupted calls are
// repeated only until the socket's own time-out has passed.
class Patience {
 public:
  explicit Patience(int socket) : socket_(socket) {}

  // After EINTR. False: enough.
  bool left() {
    const uint64_t now_ns = monotonic_now_ns();
    if (end_ns_ == 0) end_ns_ = now_ns + limit_ns();
    return now_ns < end_ns_;
  }

 private:
  uint64_t limit_ns() const {
    timeval limit{};
    socklen_t bytes = sizeof limit;
    getsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, &bytes);
    const auto us =
        static_cast<uint64_t>(limit.tv_sec) * 1'000'000 + static_cast<uint64_t>(limit.tv_usec);
    return us == 0 ? UINT64_MAX / 2 : us * 1'000;  // 0: waits for ever
  }

  int socket_;
  uint64_t end_ns_ = 0;
};

// The result of an interruptible call; EAGAIN, as at a time-out, when it is interrupted too long.
template <typename Call>
ssize_t repeat(int socket, const Call& call) {
  Patience patience(socket);
  for (;;) {
    const ssize_t result = call();
    if (result >= 0 || errno != EINTR) return result;
    if (patience.left()) continue;
    errno = EAGAIN;
    return -1;
  }
}

struct FdSpace {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int) * kMaxPassedFds)] = {};
};

void attach_fds(msghdr& header, FdSpace& space, std::initializer_list<int> fds) {
  if (fds.size() == 0) return;
  header.msg_control = space.bytes;
  header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  memcpy(CMSG_DATA(control), fds.begin(), sizeof(int) * fds.size());
}

void take_fds(msghdr& header, Packet& packet) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && packet.fd_count < kMaxPassedFds; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof fd);
      packet.fds[packet.fd_count++].reset(fd);
    }
  }
}

}  // namespace

Result<UniqueFd> connect_socket(const std::string& path, uint32_t timeout_ms) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return os_error("control socket: socket");
  set_timeouts(socket.get(),
               timeout_ms);  // connect() waits for a full backlog: bounded by this too
  const auto* target = reinterpret_cast<const sockaddr*>(&address.value());
  const auto try_once = [&] { return connect(socket.get(), target, sizeof(sockaddr_un)); };
  if (repeat(socket.get(), try_once) != 0) return os_error("control socket " + path);
  return socket;
}

Status send_packet(int socket, const void* data, size_t bytes, std::initializer_list<int> fds) {
  if (bytes == 0 || fds.size() > kMaxPassedFds) return Error{EINVAL, "control socket: bad packet"};
  iovec body{const_cast<void*>(data), bytes};
  FdSpace space;
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  attach_fds(header, space, fds);
  const ssize_t sent = repeat(socket, [&] { return sendmsg(socket, &header, MSG_NOSIGNAL); });
  if (sent < 0) return os_error("control socket: send");
  return {};
}

Result<Packet> receive_packet(int socket, void* buffer, size_t capacity) {
  iovec body{buffer, capacity};
  FdSpace space;
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  header.msg_control = space.bytes;
  header.msg_controllen = sizeof space.bytes;
  const ssize_t received =
      repeat(socket, [&] { return recvmsg(socket, &header, MSG_CMSG_CLOEXEC); });
  if (received < 0) return os_error("control socket: receive");
  Packet packet;
  take_fds(header, packet);
  if (received == 0) return Error{ECONNRESET, "control socket: closed by the other side"};
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return Error{EPROTO, "control socket: oversized packet"};
  packet.bytes = static_cast<size_t>(received);
  return packet;
}

Result<PeerIdentity> peer_identity(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
    return os_error("control socket: SO_PEERCRED");
  return PeerIdentity{credentials.pid, credentials.uid, credentials.gid};
}

UniqueFd open_peer_pidfd(int socket, pid_t pid) {
  int pidfd = -1;
  socklen_t bytes = sizeof pidfd;
  // The kernel's own reference to the peer cannot be fooled by a reused pid.
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0) return UniqueFd(pidfd);
  if (pid <= 0) return {};
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

Status check_header(const void* data, size_t bytes) {
  abi::MessageHeader header{};
  if (bytes < sizeof header) return Error{EPROTO, "control message: shorter than its header"};
  memcpy(&header, data, sizeof header);
  if (header.magic != abi::kMessageMagic)
    return Error{EPROTO, "control message: foreign magic, not a gacer peer"};
  if (header.version != abi::kAbiVersion) return version_mismatch(header.version);
  if (header.bytes != bytes)
    return Error{EPROTO, "control message: says " + std::to_string(header.bytes) + " bytes, has " +
                             std::to_string(bytes)};
  return {};
}

Status check_message(const void* data, size_t bytes, abi::MessageType type, size_t expected_bytes) {
  if (Status header_ok = check_header(data, bytes); !header_ok) return header_ok;
  abi::MessageHeader header{};
  memcpy(&header, data, sizeof header);
  if (header.type != static_cast<uint16_t>(type))
    return Error{EPROTO, "control message: unexpected type " + std::to_string(header.type)};
  if (bytes != expected_bytes)
    return Error{EPROTO, "control message: " + std::to_string(bytes) + " bytes where " +
                             std::to_string(expected_bytes) + " belong"};
  return {};
}

}  // namespace gacer::shm
