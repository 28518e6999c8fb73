// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server_place.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gacer::simdevice {

std::string server_directory() {
  if (const char* own = getenv("SIMGPU_DIR"); own != nullptr && *own != '\0') return own;
  if (const char* runtime = getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != '\0')
    return std::string(runtime) + "/simgpu";
  return "/tmp/simgpu-" + std::to_string(getuid());
}

std::string server_socket_path() {
  return server_directory() + "/device.sock";
}

Result<UniqueFd> connect_socket(const std::string& path) {
  const auto failed = [&](const char* what) {
    return Error{errno, what + path + ": " + strerror(errno)};
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{ENAMETOOLONG, path + " is too long for a socket; set SIMGPU_DIR to a shorter one"};
  memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return failed("cannot create a socket for ");
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd.get(), name, sizeof address) != 0) return failed("cannot connect to ");
  return fd;
}

}  // namespace gacer::simdevice
