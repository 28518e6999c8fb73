// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/process/client_cuda.h"
#include "tests/integration/process/client_modes.h"

extern char** environ;

namespace gacer::test {
namespace {

void expect_success(pid_t child) {
  int status = 0;
  expect(child > 0 && waitpid(child, &status, 0) == child, "the child is there");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child succeeds");
}

[[noreturn]] void child_launches(int count) {
  forget();
  launch(count);
  fflush(stdout);
  _exit(failures() == 0 ? 0 : 1);
}

pid_t fork_child(int count) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) child_launches(count);
  return child;
}

// Arguments of this program as a process of its own that launches.
struct OwnProgram {
  std::string count;
  char* arguments[4];
  explicit OwnProgram(int launches) : count(std::to_string(launches)) {
    static char path[] = "/proc/self/exe";
    static char mode[] = "launch";
    arguments[0] = path;
    arguments[1] = mode;
    arguments[2] = count.data();
    arguments[3] = nullptr;
  }
};

// A child that lives for up to 50 ms.
void short_life(int number) {
  forget();
  launch(1 + number % 7);
  usleep(static_cast<useconds_t>(number * 7919 % 50) * 1000);
  _exit(failures() == 0 ? 0 : 1);
}

}  // namespace

void fork_after_use(int count) {
  launch(count);
  expect_success(fork_child(count));
  launch(count);
}

void fork_without_use(int count) {
  pid_t children[4];
  for (pid_t& child : children) child = fork_child(count);
  for (const pid_t child : children) expect_success(child);
}

void fork_from_threads(int count) {
  prepare();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop.load()) launch(1);
    });
  launch(1);
  for (int i = 0; i < 20; ++i) expect_success(fork_child(count));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

void raw_clone(int count) {
  launch(count);
  fflush(stdout);
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) child_launches(count);
  expect_success(static_cast<pid_t>(child));
  launch(count);
}

void vfork_and_exec(int count) {
  launch(count);
  OwnProgram program(count);
  const pid_t child = vfork();
  if (child == 0) {
    execv(program.arguments[0], program.arguments);
    _exit(9);
  }
  expect_success(child);
  launch(count);
}

void spawn(int count) {
  launch(count);
  OwnProgram program(count);
  pid_t child = 0;
  expect(
      posix_spawn(&child, program.arguments[0], nullptr, nullptr, program.arguments, environ) == 0,
      "posix_spawn");
  expect_success(child);
  launch(count);
}

void fork_and_exec(int count) {
  launch(count);
  OwnProgram program(count);
  const pid_t child = fork();
  if (child == 0) {
    execv(program.arguments[0], program.arguments);
    _exit(9);
  }
  expect_success(child);
  launch(count);
}

void crowd_of_children(int children) {
  constexpr int kAtOnce = 64;
  int living = 0;
  int killed = 0;
  for (int i = 0; i < children || living > 0;) {
    if (i < children && living < kAtOnce) {
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) short_life(i);
      if (i % 10 == 0) kill(child, SIGKILL), ++killed;
      ++i;
      ++living;
      continue;
    }
    int status = 0;
    wait(&status);
    --living;
    if (WIFSIGNALED(status)) --killed;
    expect(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a child succeeds");
  }
  // On a busy machine one may end by itself before it is killed.
  expect(killed >= 0, "only those die by a signal that were killed");
}

}  // namespace gacer::test
