// SPDX-License-Identifier: Apache-2.0
// Stand-in for nvidia-cuda-mps-control: -d starts the daemon, -f runs it in the foreground,
// otherwise commands come from standard input, one a line, and their answers go to standard output.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "runtime/simdevice/mps/mps_daemon.h"
#include "runtime/simdevice/mps/mps_socket.h"

namespace {

using gacer::simdevice::mps_pipe_directory;

constexpr const char* kUsage =
    "usage: nvidia-cuda-mps-control [-d | -f] [-multiuser-server]\n"
    "       nvidia-cuda-mps-control -v\n"
    "  -d  start the control daemon in the background (socket in $CUDA_MPS_PIPE_DIRECTORY)\n"
    "  -f  the same in the foreground\n"
    "  -v  print the version of the CUDA release it stands in for\n"
    "  -multiuser-server  accepted: here one server is for all users\n"
    "  without option: read commands from standard input\n";

void detach_from_terminal() {
  ::setsid();
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; null_fd >= 0 && fd < 3; ++fd) ::dup2(null_fd, fd);
  if (null_fd > 2) ::close(null_fd);
  (void)!::chdir("/");
}

int run_daemon(bool background) {
  auto listener = gacer::simdevice::mps_listen(mps_pipe_directory());
  if (!listener) {
    std::fprintf(stderr, "%s\n", listener.error().message.c_str());
    return 1;
  }
  if (background) {
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child > 0) _exit(0);
    detach_from_terminal();
  }
  gacer::simdevice::mps_serve(std::move(*listener), mps_pipe_directory());
  return 0;
}

int run_commands() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const auto answer = gacer::simdevice::mps_command(mps_pipe_directory(), line);
    if (!answer) {
      std::fprintf(stderr, "Cannot find MPS control daemon process (%s)\n",
                   answer.error().message.c_str());
      return 1;
    }
    std::fputs(answer->c_str(), stdout);
    std::fflush(stdout);
    if (line.rfind("quit", 0) == 0) break;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return run_commands();
  const bool multi_user = argc == 3 && !std::strcmp(argv[2], "-multiuser-server");
  const bool daemon_option =
      (argc == 2 || multi_user) && (!std::strcmp(argv[1], "-d") || !std::strcmp(argv[1], "-f"));
  if (daemon_option) return run_daemon(argv[1][1] == 'd');
  if (argc == 2 && !std::strcmp(argv[1], "-v")) {
    std::puts("CUDA MPS Control version 13000");
    return 0;
  }
  std::fputs(kUsage, stderr);
  return 2;
}
