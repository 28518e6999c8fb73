// SPDX-License-Identifier: Apache-2.0
// process_stepper STEPS PROGRAM ARGUMENT...: runs the program until it stops itself (SIGSTOP), then
// STEPS single instructions of it, then kills it. Prints how many it made; fewer mean that it
// ended.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void become(char** program) {
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  execv(program[0], program);
  _exit(127);
}

// False: it has ended.
bool step(pid_t child, long request, int& signal) {
  int status = 0;
  if (ptrace(static_cast<__ptrace_request>(request), child, nullptr, signal) != 0) return false;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
  signal = WSTOPSIG(status);
  return true;
}

bool run_until_it_stops_itself(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;  // after exec
  for (int signal = 0; step(child, PTRACE_CONT, signal);)
    if (signal == SIGSTOP) return true;
  return false;
}

long single_steps(pid_t child, long wanted) {
  int signal = 0;
  for (long made = 0; made < wanted; ++made) {
    if (!step(child, PTRACE_SINGLESTEP, signal)) return made;
    if (signal == SIGTRAP) signal = 0;
  }
  return wanted;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pid_t child = fork();
  if (child == 0) become(argv + 2);
  if (!run_until_it_stops_itself(child)) {
    fputs("process_stepper: may not trace, or the program did not stop itself\n", stderr);
    return 3;
  }
  const long made = single_steps(child, atol(argv[1]));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  printf("%ld\n", made);
  return 0;
}
