// SPDX-License-Identifier: Apache-2.0
// simgpu-server: the process that is the simulated device. Started by the simulated driver of the
// first client.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/simdevice/server/options.h"
#include "runtime/simdevice/server/server.h"

namespace {

// The client that started us must not find its pipes and files held open, nor its terminal written
// to.
void leave_the_client() {
  ::setsid();
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const char* log = std::getenv("SIMGPU_LOG");
  const int log_fd = log != nullptr && *log != '\0'
                         ? ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                         : -1;
  ::dup2(null_fd, STDIN_FILENO);
  ::dup2(null_fd, STDOUT_FILENO);
  ::dup2(log_fd >= 0 ? log_fd : null_fd, STDERR_FILENO);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gacer::simdevice;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kServerUsage, stdout);
    return 0;
  }
  const auto options = parse_options({argv + 1, static_cast<size_t>(argc - 1)});
  if (!options) {
    std::fprintf(stderr, "simgpu-server: %s\n%s", options.error().message.c_str(), kServerUsage);
    return 2;
  }
  // Descriptor 3 is the lifeline by which the starting driver sees this process end.
  ::close_range(4, ~0U, 0);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  auto server = Server::create(*options);
  if (!server) {
    if (server.error().code == EEXIST) return 0;
    std::fprintf(stderr, "simgpu-server: %s\n", server.error().message.c_str());
    return 1;
  }
  if (!options->foreground) leave_the_client();
  // Only this thread, which keeps the model's time: the block pool may wait for the tenants' cores.
  // Refused without privilege, which costs precision only.
  (void)::setpriority(PRIO_PROCESS, 0, -10);
  return (*server)->run();
}
