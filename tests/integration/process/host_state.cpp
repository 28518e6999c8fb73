// SPDX-License-Identifier: Apache-2.0
// Everything of a host that code inside it could change by accident, before and after launches.
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/process/client_cuda.h"
#include "tests/integration/process/client_modes.h"

extern char** environ;

namespace gacer::test {
namespace {

constexpr int kTellTale = 4242;
constexpr int kLowFds = 512;

template <typename Value>
std::string bytes_of(const Value& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder);
  const std::string own = std::to_string(dirfd(directory));
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.' && entry->d_name != own) names.emplace_back(entry->d_name);
  closedir(directory);
  return names;
}

std::set<std::string> low_descriptors() {
  std::set<std::string> low;
  for (const std::string& name : names_in("/proc/self/fd"))
    if (atoi(name.c_str()) < kLowFds) low.insert(name);
  return low;
}

struct Handler {
  decltype(sigaction::sa_handler) function;
  int flags;
  bool operator==(const Handler&) const = default;
};

struct HostState {
  std::string signal_mask, affinity;
  std::vector<Handler> handlers;
  std::vector<std::string> limits, environment;
  std::set<std::string> descriptors;
  mode_t mask = 0;
  size_t threads = 0;
  int priority = 0, rounding = 0, timer_slack = 0;
  std::string folder;
};

void read_signals(HostState& state) {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    state.signal_mask += sigismember(&mask, signal) == 1 ? "1" : "0";
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    state.handlers.push_back({action.sa_handler, action.sa_flags});
  }
}

HostState look() {
  HostState state;
  read_signals(state);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  state.affinity = bytes_of(cpus);
  for (int which = 0; which < RLIM_NLIMITS; ++which) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(which), &limit);
    state.limits.push_back(bytes_of(limit));
  }
  for (char** entry = environ; *entry != nullptr; ++entry) state.environment.emplace_back(*entry);
  state.mask = umask(0);
  umask(state.mask);
  state.threads = names_in("/proc/self/task").size();
  state.priority = getpriority(PRIO_PROCESS, 0);
  state.rounding = fegetround();
  state.timer_slack = prctl(PR_GET_TIMERSLACK);
  char folder[4096];
  state.folder = getcwd(folder, sizeof folder);
  state.descriptors = low_descriptors();
  return state;
}

void compare(const HostState& before, const HostState& after) {
  expect(before.signal_mask == after.signal_mask, "the signal mask is as before");
  expect(before.handlers == after.handlers, "signal handlers are as before");
  expect(before.affinity == after.affinity, "the affinity is as before");
  expect(before.limits == after.limits, "resource limits are as before");
  expect(before.environment == after.environment, "the environment is as before");
  expect(before.descriptors == after.descriptors, "descriptors below 512 are as before");
  expect(before.mask == after.mask, "the umask is as before");
  expect(before.threads == after.threads, "no thread has been added");
  expect(before.priority == after.priority, "the priority is as before");
  expect(before.rounding == after.rounding, "the rounding mode is as before");
  expect(before.timer_slack == after.timer_slack, "the timer slack is as before");
  expect(before.folder == after.folder, "the working folder is as before");
}

}  // namespace

void host_state(int count) {
  umask(0137);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_IGN);
  fesetround(FE_UPWARD);
  const HostState before = look();
  prepare();
  for (int i = 0; i < count; ++i) {
    errno = kTellTale;
    launch(1);
    expect(errno == kTellTale, "a launch leaves errno alone");
  }
  compare(before, look());
}

}  // namespace gacer::test
