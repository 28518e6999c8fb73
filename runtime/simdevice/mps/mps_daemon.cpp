// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/mps/mps_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "runtime/simdevice/mps/mps_socket.h"

namespace gacer::simdevice {
namespace {

// Lines as the real daemon writes them; nothing where there is no folder for them.
void log_control(const std::string& text) {
  const char* directory = std::getenv("CUDA_MPS_LOG_DIRECTORY");
  if (directory == nullptr || *directory == '\0') return;
  FILE* log = std::fopen((std::string(directory) + "/control.log").c_str(), "ae");
  if (log == nullptr) return;
  char now[64] = "";
  const time_t seconds = ::time(nullptr);
  tm parts{};
  std::strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S", ::localtime_r(&seconds, &parts));
  std::fprintf(log, "[%s.000 Control %6d] %s\n", now, ::getpid(), text.c_str());
  std::fclose(log);
}

std::string pid_path(const std::string& directory) {
  return directory + "/nvidia-cuda-mps-control.pid";
}

void write_pid(const std::string& directory) {
  FILE* file = std::fopen(pid_path(directory).c_str(), "we");
  if (file == nullptr) return;
  std::fprintf(file, "%d\n", ::getpid());
  std::fclose(file);
}

std::string read_line(int fd) {
  std::string line;
  char c = 0;
  while (line.size() < 512 && ::read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

void answer_one(int fd, MpsState& state) {
  const timeval limit{kMpsTimeoutMs / 1000, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::string line = read_line(fd);
  const std::string answer = state.answer(line);
  if (!line.empty() && line.rfind("get_", 0) != 0) log_control("Accepting command: " + line);
  if (!answer.empty()) (void)!::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

}  // namespace

Result<UniqueFd> mps_listen(const std::string& directory) {
  const auto path = mps_socket_path(directory);
  if (!path) return path.error();
  uint32_t percentage = 0;
  if (mps_is_on(directory, percentage))
    return Error{EADDRINUSE, "An instance of this daemon is already running in " + directory};
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{errno, directory + ": cannot create: " + std::strerror(errno)};
  ::unlink(path->c_str());
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->c_str(), path->size() + 1);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 64) != 0)
    return Error{errno, *path + ": cannot listen: " + std::strerror(errno)};
  return listener;
}

void mps_serve(UniqueFd listener, const std::string& directory) {
  MpsState state;
  write_pid(directory);
  log_control("Starting control daemon using socket " + directory + "/control");
  while (!state.quit_requested()) {
    UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid()) {
      answer_one(connection.get(), state);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  const auto path = mps_socket_path(directory);
  if (path) ::unlink(path->c_str());
  ::unlink(pid_path(directory).c_str());
  log_control("Exit");
}

}  // namespace gacer::simdevice
