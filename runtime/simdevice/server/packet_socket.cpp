// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/packet_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gacer::simdevice {
namespace {

// Takes the first descriptor, closes any others; true when there was at most one.
bool take_descriptors(msghdr& message, UniqueFd& fd) {
  int count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t fds = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < fds; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      UniqueFd owned(received);
      if (count++ == 0) fd = std::move(owned);
    }
  }
  return count <= 1 && (message.msg_flags & MSG_CTRUNC) == 0;
}

std::string failed(const std::string& path, const char* what) {
  return path + ": " + what + ": " + std::strerror(errno);
}

Result<UniqueFd> bind_socket(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::unlink(path.c_str());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 512) != 0)
    return Error{errno, failed(path, "cannot listen")};
  return fd;
}

}  // namespace

Received receive_packet(int socket_fd, Packet& packet) {
  packet.fd.reset();
  iovec data{packet.buffer.data(), packet.buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Received::kNothing : Received::kClosed;
  const bool descriptors_fine = take_descriptors(message, packet.fd);
  if (got == 0) return Received::kClosed;
  if (!descriptors_fine || (message.msg_flags & MSG_TRUNC) != 0) return Received::kBroken;
  packet.size = static_cast<size_t>(got);
  return Received::kPacket;
}

bool send_packet(int socket_fd, std::span<const uint8_t> bytes, int fd) {
  iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
  }
  return ::sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

Result<Listener> Listener::open(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return Error{ENAMETOOLONG, path + ": too long for a socket address; choose a shorter path"};
  const std::string lock_path = path + ".lock";
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return Error{errno, failed(lock_path, "cannot open")};
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{EEXIST, path + ": another simgpu-server serves it"};
  auto socket_fd = bind_socket(path);
  if (!socket_fd) return socket_fd.error();
  return Listener(path, std::move(lock), std::move(*socket_fd));
}

Listener::~Listener() {
  // The lock file stays: unlinking it would let two servers hold locks on two files of one name.
  if (socket_.valid()) ::unlink(path_.c_str());
}

UniqueFd Listener::accept() const {
  return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool Listener::try_close(UniqueFd& late_client) {
  const std::string hidden = path_ + ".closing";
  if (::rename(path_.c_str(), hidden.c_str()) != 0) return true;
  late_client = accept();
  if (late_client.valid()) {
    (void)::rename(hidden.c_str(), path_.c_str());
    return false;
  }
  ::unlink(hidden.c_str());
  return true;
}

}  // namespace gacer::simdevice
