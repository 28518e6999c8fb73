// SPDX-License-Identifier: Apache-2.0
// process_client MODE [COUNT]: a CUDA program that lives in the way the mode says. Exit code 0: all
// its calls did what it expects.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/integration/process/client_cuda.h"
#include "tests/integration/process/client_modes.h"

namespace {

using namespace gacer::test;  // NOLINT: all of them are rows below

constexpr struct {
  const char* name;
  void (*run)(int count);
} kModes[] = {
    {"launch", &launch},
    {"fork", &fork_after_use},
    {"fork-unused", &fork_without_use},
    {"fork-threads", &fork_from_threads},
    {"raw-clone", &raw_clone},
    {"vfork", &vfork_and_exec},
    {"spawn", &spawn},
    {"fork-exec", &fork_and_exec},
    {"crowd", &crowd_of_children},
    {"close-before", &close_all_before},
    {"close-after", &close_all_after},
    {"closed-std", &closed_standard_files},
    {"stderr-reused", &standard_error_reused},
    {"drop", &drop_privileges},
    {"atexit", &launch_at_exit},
    {"_exit", &exit_at_once},
    {"thread-exit", &launch_at_thread_exit},
    {"dlclose", &close_driver_handle},
    {"dlmopen", &other_namespace},
    {"timer", &interval_timer},
    {"cancel", &cancelled_threads},
    {"host-state", &host_state},
    {"first", &timed_first_launch},
    {"slowly", &launch_slowly},
    {"stop", &stop_then_launch},
};

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  for (const auto& mode : kModes) {
    if (argc < 2 || strcmp(mode.name, argv[1]) != 0) continue;
    mode.run(count);
    fflush(stdout);
    return failures() == 0 ? 0 : 1;
  }
  return 2;
}
