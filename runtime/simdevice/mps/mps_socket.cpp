// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/mps/mps_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/base/unique_fd.h"

namespace gacer::simdevice {
namespace {

Result<UniqueFd> connect_to(const std::string& path) {
  UniqueFd socket_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return Error{errno, "socket: " + std::string(std::strerror(errno))};
  const timeval limit{kMpsTimeoutMs / 1000, suseconds_t{kMpsTimeoutMs % 1000} * 1000};
  ::setsockopt(socket_fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Error{errno, path + ": " + std::strerror(errno)};
  return socket_fd;
}

Result<std::string> read_all(int fd) {
  std::string answer;
  char chunk[512];
  for (;;) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got == 0) return answer;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{errno, std::string("no answer from MPS control: ") + std::strerror(errno)};
    answer.append(chunk, static_cast<size_t>(got));
  }
}

}  // namespace

std::string mps_pipe_directory() {
  const char* directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return directory != nullptr && *directory != '\0' ? directory : "/tmp/nvidia-mps";
}

Result<std::string> mps_socket_path(const std::string& directory) {
  std::string path = directory + "/control";
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return Error{ENAMETOOLONG,
                 path + ": too long for a socket; choose a shorter CUDA_MPS_PIPE_DIRECTORY"};
  return path;
}

Result<std::string> mps_command(const std::string& directory, std::string_view command) {
  const auto path = mps_socket_path(directory);
  if (!path) return path.error();
  auto socket_fd = connect_to(*path);
  if (!socket_fd) return socket_fd.error();
  const std::string line = std::string(command) + "\n";
  if (::send(socket_fd->get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size()))
    return Error{errno, *path + ": cannot send: " + std::strerror(errno)};
  return read_all(socket_fd->get());
}

void mps_notify(const std::string& directory, std::string_view line) {
  const auto path = mps_socket_path(directory);
  if (!path) return;
  const auto socket_fd = connect_to(*path);
  if (!socket_fd) return;
  const std::string text = std::string(line) + "\n";
  (void)!::send(socket_fd->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool mps_is_on(const std::string& directory, uint32_t& percentage) {
  const auto answer = mps_command(directory, "get_default_active_thread_percentage");
  if (!answer) return false;
  char* end = nullptr;
  const double value = std::strtod(answer->c_str(), &end);
  if (end == answer->c_str() || !(value > 0.0 && value <= 100.0)) return false;
  percentage = static_cast<uint32_t>(std::lround(std::fmax(value, 1.0)));
  return true;
}

}  // namespace gacer::simdevice
