// SPDX-License-Identifier: Apache-2.0
// handoff_bench SOCKET COUNT PROBE: the time from the daemon's opening of a closed gate to the
// return of the launch that waited at it, in another process, through the real segment. The process
// is found spinning (the gate opens soon after the launch has come) or asleep in its futex. "bare":
// the same hand-off to a process that does nothing but sleep in a futex, which is what the machine
// makes everybody pay.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/shm/futex.h"
#include "tests/bench/bench_driver.h"
#include "tests/bench/handoff_page.h"
#include "tests/support/standin_daemon/standin_daemon.h"

namespace gacer::bench {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kSoonNs = 5'000;      // well within the shim's spinning
constexpr uint64_t kAsleepNs = 100'000;  // after it has announced its sleep
constexpr uint64_t kHangNs = 5'000'000'000;

void wait_ns(uint64_t span_ns) {
  const uint64_t until = now_ns() + span_ns;
  while (now_ns() < until) {
  }
}

template <typename Condition>
void wait_until(const Condition& condition) {
  const uint64_t start = now_ns();
  while (!condition()) {
    if (now_ns() - start < kHangNs) continue;
    fprintf(stderr, "handoff_bench: the tenant does not answer\n");
    exit(1);
  }
}

// As gacerd does (runtime/daemon/tenant_process.cpp): a wake-up only for those who sleep.
void decide(abi::Segment& segment, abi::GateMode mode) {
  segment.gate.mode.store(static_cast<uint32_t>(mode), kRelaxed);
  segment.gate.gate_seq.fetch_add(1, std::memory_order_seq_cst);
  if (segment.progress.waiting_threads.load(std::memory_order_seq_cst) != 0)
    shm::futex_wake_all(segment.gate.gate_seq);
}

uint64_t one_round(abi::Segment& segment, HandoffPage& page, uint32_t round, bool asleep) {
  decide(segment, abi::GateMode::kClosed);
  page.round.store(round, std::memory_order_release);
  wait_until([&] { return page.arrived.load(std::memory_order_acquire) == round; });
  if (asleep) {
    wait_until([&] { return segment.progress.waiting_threads.load() != 0; });
    wait_ns(kAsleepNs);
  } else {
    wait_ns(kSoonNs);
  }
  const uint64_t opened_ns = now_ns();
  decide(segment, abi::GateMode::kUngated);
  wait_until([&] { return page.done.load(std::memory_order_acquire) == round; });
  return page.through_ns.load(kRelaxed) - opened_ns;
}

// In a child: what a waiting launch does at the very least.
[[noreturn]] void sleep_in_rounds(HandoffPage& page, uint32_t rounds) {
  for (uint32_t round = 1; round <= rounds; ++round) {
    page.arrived.store(round, std::memory_order_release);
    while (page.futex.load(std::memory_order_acquire) != round)
      shm::futex_wait_until(page.futex, round - 1, now_ns() + kHangNs);
    page.through_ns.store(now_ns(), kRelaxed);
    page.done.store(round, std::memory_order_release);
  }
  _exit(0);
}

std::vector<uint64_t> bare_wakes(HandoffPage& page, uint32_t rounds) {
  std::vector<uint64_t> spans;
  page.arrived.store(0);
  page.done.store(0);
  const pid_t sleeper = fork();
  if (sleeper == 0) sleep_in_rounds(page, rounds);
  for (uint32_t round = 1; round <= rounds; ++round) {
    wait_until([&] { return page.arrived.load(std::memory_order_acquire) == round; });
    wait_ns(kAsleepNs);
    const uint64_t woken_ns = now_ns();
    page.futex.store(round, std::memory_order_release);
    shm::futex_wake_all(page.futex);
    wait_until([&] { return page.done.load(std::memory_order_acquire) == round; });
    spans.push_back(page.through_ns.load(kRelaxed) - woken_ns);
  }
  waitpid(sleeper, nullptr, 0);
  return spans;
}

void report(const char* way, std::vector<uint64_t> spans, const char* end) {
  std::sort(spans.begin(), spans.end());
  printf("\"%s\":{\"p50_ns\":%lu,\"p99_ns\":%lu}%s", way, spans[spans.size() / 2],
         spans[spans.size() * 99 / 100], end);
}

HandoffPage* share_page(int& fd) {
  fd = memfd_create("handoff", 0);
  if (ftruncate(fd, sizeof(HandoffPage)) != 0) return nullptr;
  return static_cast<HandoffPage*>(
      mmap(nullptr, sizeof(HandoffPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
}

int run(const std::string& socket, int count, const char* probe) {
  int fd = -1;
  HandoffPage* page = share_page(fd);
  setenv("LD_PRELOAD", getenv("HANDOFF_PRELOAD"), 1);  // for the tenant; this process goes on
  test::StandInDaemon daemon(socket);
  test::StandInOptions options;
  options.max_wait_ns = kHangNs;
  if (page == nullptr || !daemon.start(options)) return 1;
  const pid_t tenant = fork();
  if (tenant == 0) {
    const std::string fd_text = std::to_string(fd);
    const std::string count_text = std::to_string(2 * count);
    execl(probe, probe, "wait", fd_text.c_str(), count_text.c_str(), nullptr);
    _exit(127);
  }
  abi::Segment* segment = nullptr;
  wait_until([&] {
    daemon.with_client(0, [&](test::StandInClient& client) { segment = &client.segment(); });
    return segment != nullptr && segment->progress.launches.load() != 0;
  });
  std::vector<uint64_t> spinning;
  std::vector<uint64_t> sleeping;
  for (int i = 1; i <= 2 * count; ++i) {
    const bool asleep = i > count;
    (asleep ? sleeping : spinning)
        .push_back(one_round(*segment, *page, static_cast<uint32_t>(i), asleep));
  }
  int status = 0;
  waitpid(tenant, &status, 0);
  printf("{");
  report("spinning", spinning, ",");
  report("sleeping", sleeping, ",");
  report("bare", bare_wakes(*page, static_cast<uint32_t>(count)), "}\n");
  return status;
}

}  // namespace
}  // namespace gacer::bench

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return gacer::bench::run(argv[1], atoi(argv[2]), argv[3]);
}
