// SPDX-License-Identifier: Apache-2.0
#include "tools/daemon_start.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "tools/command.h"
#include "tools/control_client.h"
#include "tools/preload.h"

namespace gacer::tools {
namespace {

constexpr int kReadyFd = 3;
constexpr int kReadyTimeoutMs = 10'000;
constexpr int kRaceAttempts = 40;
constexpr unsigned kRaceSleepUs = 50'000;

std::string daemon_program() {
  if (const char* given = getenv("GACER_DAEMON"); given != nullptr && *given != '\0') return given;
  return executable_folder() + "/gacerd";
}

std::string log_path(const std::string& socket_path) {
  return socket_path + ".log";
}

std::vector<std::string> daemon_words(const std::string& socket_path, const std::string& policy) {
  std::vector<std::string> words{daemon_program(),
                                 "--socket",
                                 socket_path,
                                 "--log",
                                 log_path(socket_path),
                                 "--ready-fd",
                                 std::to_string(kReadyFd)};
  if (!policy.empty()) words.insert(words.end(), {"--policy", policy});
  return words;
}

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

// What the child needs, made before fork: between fork and exec only system calls.
struct LaunchPlan {
  std::vector<std::string> words;
  std::vector<char*> argv;
  int ready_fd = -1;
};

void redirect(const LaunchPlan& plan) {
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  if (plan.ready_fd == kReadyFd)
    fcntl(kReadyFd, F_SETFD, 0);
  else
    dup2(plan.ready_fd, kReadyFd);
  // A pipe of ours that the daemon kept open would keep the reader of our output waiting for ever.
  close_range(kReadyFd + 1, ~0u, 0);
}

// Twice forked: the program that takes our place must not find a child it never started.
[[noreturn]] void become_daemon(const LaunchPlan& plan) {
  setsid();
  if (fork() != 0) _exit(0);
  redirect(plan);
  unsetenv("LD_PRELOAD");
  execv(plan.argv[0], plan.argv.data());
  dprintf(kReadyFd, "cannot execute %s: %s\n", plan.argv[0], strerror(errno));
  _exit(127);
}

std::string read_answer(int fd) {
  std::string answer;
  char text[512];
  pollfd entry{fd, POLLIN, 0};
  while (poll(&entry, 1, kReadyTimeoutMs) > 0) {
    const ssize_t bytes = read(fd, text, sizeof text);
    if (bytes <= 0) break;
    answer.append(text, static_cast<size_t>(bytes));
    if (answer.back() == '\n') break;
  }
  return answer.substr(0, answer.find('\n'));
}

std::string launch(const std::string& socket_path, const std::string& policy) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw ToolError(kExitNoDaemon, strerror(errno));
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  LaunchPlan plan{daemon_words(socket_path, policy), {}, writer.get()};
  plan.argv = argv_of(plan.words);
  const pid_t child = fork();
  if (child < 0) throw ToolError(kExitNoDaemon, fmt::format("fork: {}", strerror(errno)));
  if (child == 0) become_daemon(plan);
  writer.reset();
  waitpid(child, nullptr, 0);
  return read_answer(reader.get());
}

bool somebody_answers(const std::string& socket_path) {
  for (int i = 0; i < kRaceAttempts; ++i) {
    if (ControlClient::try_connect(socket_path)) return true;
    usleep(kRaceSleepUs);
  }
  return false;
}

}  // namespace

void start_daemon(const std::string& socket_path, const std::string& policy) {
  const std::string answer = launch(socket_path, policy);
  if (answer == "ready") return;
  const bool lost_a_race = answer.find("already serves") != std::string::npos;
  if (lost_a_race && somebody_answers(socket_path)) return;
  throw ToolError(kExitNoDaemon,
                  fmt::format("cannot start gacerd: {}",
                              answer.empty() ? "no answer; see " + log_path(socket_path) : answer));
}

}  // namespace gacer::tools
