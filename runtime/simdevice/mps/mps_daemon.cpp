// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/mps/mps_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/simdevice/mps/mps_socket.h"

namespace gacer::simdevice {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::pair<std::string_view, std::string_view> split_word(std::string_view line) {
  line = trimmed(line);
  const auto space = line.find_first_of(" \t");
  if (space == std::string_view::npos) return {line, {}};
  return {line.substr(0, space), trimmed(line.substr(space))};
}

std::string percentage_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f\n", value);
  return text;
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
  const std::string answer = state.answer(read_line(fd));
  if (!answer.empty()) (void)!::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

}  // namespace

std::string MpsState::answer(std::string_view line) {
  const auto [word, argument] = split_word(line);
  if (word == "get_default_active_thread_percentage") return percentage_text(default_percentage_);
  if (word == "set_default_active_thread_percentage") return set_percentage(argument);
  if (word == "get_server_list") return server_list();
  if (word == "quit") {
    quit_ = true;
    return {};
  }
  if (word == "server_started") {
    int pid = 0;
    const auto parsed = std::from_chars(argument.data(), argument.data() + argument.size(), pid);
    if (parsed.ec != std::errc() || pid <= 0) return "Invalid pid\n";
    if (std::find(servers_.begin(), servers_.end(), pid) == servers_.end()) servers_.push_back(pid);
    return {};
  }
  return "Unknown command \"" + std::string(word) +
         "\"; known: get_server_list, get_default_active_thread_percentage, "
         "set_default_active_thread_percentage PERCENT, quit\n";
}

std::string MpsState::set_percentage(std::string_view argument) {
  const std::string text(argument);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0.0 && value <= 100.0))
    return "Invalid percentage \"" + text + "\": a number above 0 and up to 100\n";
  default_percentage_ = value;
  return percentage_text(value);
}

std::string MpsState::server_list() const {
  std::string list;
  for (const int pid : servers_)
    if (::kill(pid, 0) == 0 || errno == EPERM) list += std::to_string(pid) + "\n";
  return list;
}

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
}

}  // namespace gacer::simdevice
