// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/mps_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/path_access.h"
#include "runtime/base/unique_fd.h"

namespace gacer::tools::doctor {
namespace {

constexpr const char* kNoOverlap =
    "without MPS kernels of different processes do not overlap, the driver time-slices them; start "
    "'nvidia-cuda-mps-control -d'";

// 0, or the errno of trying.
int try_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  memcpy(address.sun_path, path.data(), path.size());
  int code = 0;
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* target = reinterpret_cast<const sockaddr*>(&address);
    if (connect(socket.get(), target, sizeof address) == 0) return 0;
    code = errno;
    if (code != EPROTOTYPE) break;
  }
  return code == EAGAIN ? 0 : code;  // a full backlog: somebody is there
}

// A pipe without a reader answers ENXIO.
int try_pipe(const std::string& path) {
  const UniqueFd pipe(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return pipe.valid() ? 0 : errno;
}

// A control daemon of root serves every user, one at a time; anybody else's serves its owner.
// Others wait without a message.
Check check_owner(const std::string& control) {
  struct stat info {};
  const bool known = stat(control.c_str(), &info) == 0;
  if (known && info.st_uid != 0 && info.st_uid != geteuid())
    return warn("mps",
                fmt::format("{} is served for uid {} only: programs of uid {} wait without a "
                            "message; use a CUDA_MPS_PIPE_DIRECTORY of your own",
                            control, info.st_uid, geteuid()));
  return ok("mps", "on, " + control + "; programs of one user at a time, others wait");
}

int try_control(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISSOCK(info.st_mode)) return try_socket(path);
  if (S_ISFIFO(info.st_mode)) return try_pipe(path);
  return ENOENT;
}

}  // namespace

std::string mps_pipe_directory() {
  const char* directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return directory == nullptr || *directory == '\0' ? "/tmp/nvidia-mps" : directory;
}

Check mps_check(const std::string& pipe_directory) {
  const std::string control = pipe_directory + "/control";
  const int code = try_control(control);
  if (code == 0) return check_owner(control);
  if (code == ENOENT || code == ECONNREFUSED || code == ENXIO || code == ENOTDIR)
    return warn("mps", fmt::format("off ({} answers nobody): {}", control, kNoOverlap));
  const auto gids = own_groups();
  const auto blocked = first_blocked_component(control, geteuid(), gids);
  return warn("mps", fmt::format("cannot be reached: {}: {}; CUDA programs may fail or hang",
                                 blocked ? blocked->component : control,
                                 blocked ? blocked->reason : std::string(strerror(code))));
}

}  // namespace gacer::tools::doctor
