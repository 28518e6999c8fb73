// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/control_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace gacer::daemon {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kSocketMode = 0600;

Error os_error(const std::string& what) {
  const int code = errno;
  return Error{code, what + ": " + strerror(code)};
}

Status make_folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = path.substr(0, slash);
  if (mkdir(folder.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  return os_error("cannot create " + folder + " for the control socket (choose another --socket)");
}

std::string holder_of(int lock) {
  char text[32] = {};
  const ssize_t bytes = pread(lock, text, sizeof text - 1, 0);
  return bytes > 0 ? std::string(text, strcspn(text, "\n")) : "unknown";
}

void write_holder(int lock) {
  const std::string text = std::to_string(getpid()) + "\n";
  [[maybe_unused]] const int cut = ftruncate(lock, 0);
  [[maybe_unused]] const ssize_t written = pwrite(lock, text.data(), text.size(), 0);
}

Result<UniqueFd> take_lock(const std::string& path) {
  const std::string lock_path = path + ".lock";
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kSocketMode));
  if (!lock.valid()) return os_error("cannot open " + lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return os_error("cannot lock " + lock_path);
    return Error{EADDRINUSE, "another gacerd (pid " + holder_of(lock.get()) + ") already serves " +
                                 path + "; end it with 'gacer stop' or choose another --socket"};
  }
  write_holder(lock.get());
  return lock;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error{ENAMETOOLONG, "socket path '" + path + "' must have 1 to " +
                                   std::to_string(sizeof address.sun_path - 1) + " characters"};
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool answers(const sockaddr_un& address) {
  const UniqueFd probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* target = reinterpret_cast<const sockaddr*>(&address);
  return connect(probe.get(), target, sizeof address) == 0 || errno != ECONNREFUSED;
}

// With the lock held nobody else of us can be listening: a socket that refuses is a left-over.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return Error{EEXIST,
                 path + " exists and is not a socket; remove it or choose another --socket"};
  if (answers(address))
    return Error{EADDRINUSE, path + " is served by another program; choose another --socket"};
  if (unlink(path.c_str()) != 0) return os_error("cannot remove the stale socket " + path);
  return {};
}

}  // namespace

Result<ControlSocket> ControlSocket::open(const std::string& path) {
  if (const auto address = address_of(path); !address) return address.error();
  if (const Status made = make_folder_of(path); !made) return made.error();
  auto lock = take_lock(path);
  if (!lock) return lock.error();
  ControlSocket control(path, std::move(lock).value());
  if (const Status bound = control.bind_and_listen(); !bound) return bound.error();
  return control;
}

Status ControlSocket::bind_and_listen() {
  const sockaddr_un address = address_of(path_).value();
  if (Status removed = remove_stale(path_, address); !removed) return removed;
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return os_error("control socket");
  // Before bind: the file then never exists with a wider mode, whatever the umask.
  if (fchmod(listener.get(), kSocketMode) != 0) return os_error("control socket: fchmod");
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return os_error("cannot bind " + path_);
  listener_ = std::move(listener);
  if (listen(listener_.get(), SOMAXCONN) != 0) return os_error("cannot listen on " + path_);
  return {};
}

ControlSocket::~ControlSocket() {
  // Closed first, so that nobody can connect to a socket that is never accepted; unlinked under the
  // lock.
  if (!listener_.valid()) return;
  listener_.reset();
  unlink(path_.c_str());
}

}  // namespace gacer::daemon
