// SPDX-License-Identifier: Apache-2.0
// launch_probe idle              attaches, prints "up", waits for the end of its input
// launch_probe single N          p50 and p99 of single launches, direct and hooked, as one JSON
// line launch_probe calls N           N launches; prints how many system calls they made
// launch_probe wait FD N         launches N times at a gate; the shared page FD tells when and how
//                                long it took (handoff_bench.cpp)
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/bench/bench_driver.h"
#include "tests/bench/handoff_page.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gacer::bench {
namespace {

// -- single launches

// Ordered on both sides; its own price is in what it measures.
uint64_t ticks() {
#if defined(__x86_64__)
  _mm_lfence();
  const uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#else
  return now_ns();
#endif
}

double ns_per_tick() {
  const uint64_t ns = now_ns();
  const uint64_t start = ticks();
  while (now_ns() - ns < 20'000'000) {
  }
  return static_cast<double>(now_ns() - ns) / static_cast<double>(ticks() - start);
}

struct Percentiles {
  double p50_ns;
  double p99_ns;
};

template <typename Call>
Percentiles measure(int count, double rate, const Call& call) {
  std::vector<uint64_t> spans(static_cast<size_t>(count));
  for (uint64_t& span : spans) {
    const uint64_t start = ticks();
    call();
    span = ticks() - start;
  }
  std::sort(spans.begin(), spans.end());
  return {static_cast<double>(spans[spans.size() / 2]) * rate,
          static_cast<double>(spans[spans.size() * 99 / 100]) * rate};
}

void print(const char* name, Percentiles row, const char* end) {
  printf("\"%s\":{\"p50_ns\":%.1f,\"p99_ns\":%.1f}%s", name, row.p50_ns, row.p99_ns, end);
}

int single(int count) {
  const Driver direct = open_driver(kDirect);
  const Driver hooked = open_driver(kHooked);
  const double rate = ns_per_tick();
  Program plain(direct);
  Program program(hooked);
  measure(count / 10, rate, [&] { program.launch(); });  // warm
  printf("{");
  print("empty", measure(count, rate, [] {}), ",");
  print("direct", measure(count, rate, [&] { plain.launch(); }), ",");
  print("cuLaunchKernel", measure(count, rate, [&] { program.launch(); }), ",");
  print("cuLaunchKernelEx", measure(count, rate, [&] { program.launch_ex(); }), "}\n");
  return 0;
}

// -- system calls

// A call that does nothing and that nobody else makes.
constexpr int kMarkerFd = -7771;
void marker() {
  [[maybe_unused]] const int result = ftruncate(kMarkerFd, 0);
}

[[noreturn]] void launch_between_markers(int count) {
  const Driver hooked = open_driver(kHooked);
  {
    Program program(hooked);
    for (int i = 0; i < 1000; ++i) program.launch();
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    marker();
    for (int i = 0; i < count; ++i) program.launch();
    marker();
  }
  _exit(0);
}

#if defined(__x86_64__)
bool at_marker(pid_t child) {
  __ptrace_syscall_info info{};
  ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
  return info.op == PTRACE_SYSCALL_INFO_ENTRY && static_cast<int>(info.entry.args[0]) == kMarkerFd;
}
#endif

// Stops at each entry to and return from a system call.
int calls(int count) {
  const pid_t child = fork();
  if (child == 0) launch_between_markers(count);
  int status = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int markers = 0;
  long stops = 0;
  while (markers < 2) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 1;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    if (markers == 1) ++stops;
    if (at_marker(child)) ++markers;
  }
  // Between the two entries: the first marker's return and the second one's entry.
  printf("{\"launches\":%d,\"system_calls\":%ld}\n", count, (stops - 2) / 2);
  ptrace(PTRACE_DETACH, child, nullptr, nullptr);
  waitpid(child, &status, 0);
  return 0;
}

// -- hand-off

int wait_at_gate(int fd, int count) {
  auto* page = static_cast<HandoffPage*>(
      mmap(nullptr, sizeof(HandoffPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  const Driver hooked = open_driver(kHooked);
  Program program(hooked);
  program.launch();
  for (int i = 1; i <= count; ++i) {
    while (page->round.load(std::memory_order_acquire) != static_cast<uint32_t>(i)) {
    }
    page->arrived.store(static_cast<uint32_t>(i), std::memory_order_release);
    program.launch();
    page->through_ns.store(now_ns(), std::memory_order_relaxed);
    page->done.store(static_cast<uint32_t>(i), std::memory_order_release);
  }
  return 0;
}

int idle() {
  const Driver hooked = open_driver(kHooked);
  Program program(hooked);
  program.launch();
  printf("up\n");
  fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace gacer::bench

int main(int argc, char** argv) {
  using namespace gacer::bench;
  const std::vector<const char*> words(argv + 1, argv + argc);
  const auto number = [&](size_t i) { return i < words.size() ? atoi(words[i]) : 0; };
  if (words.empty()) return 2;
  if (strcmp(words[0], "idle") == 0) return idle();
  if (strcmp(words[0], "single") == 0) return single(number(1));
  if (strcmp(words[0], "calls") == 0) return calls(number(1));
  if (strcmp(words[0], "wait") == 0) return wait_at_gate(number(1), number(2));
  return 2;
}
