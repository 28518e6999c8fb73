// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "runtime/base/clock.h"

namespace gacer::shm {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// The host program's errno is not ours to change.
class ErrnoGuard {
 public:
  ErrnoGuard() : saved_(errno) {}
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

WaitResult from_errno(int code) {
  if (code == EAGAIN) return WaitResult::kValueChanged;
  if (code == ETIMEDOUT) return WaitResult::kTimedOut;
  if (code == EINTR) return WaitResult::kInterrupted;
  return WaitResult::kWoken;
}

}  // namespace

WaitResult futex_wait_until(const std::atomic<uint32_t>& word, uint32_t expected,
                            uint64_t deadline_ns) {
  const ErrnoGuard guard;
  const timespec deadline{static_cast<time_t>(deadline_ns / kNsPerSecond),
                          static_cast<long>(deadline_ns % kNsPerSecond)};
  // WAIT_BITSET takes an absolute CLOCK_MONOTONIC time; not PRIVATE, the word is in shared memory.
  const long rc = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, &deadline, nullptr,
                          FUTEX_BITSET_MATCH_ANY);
  return rc == 0 ? WaitResult::kWoken : from_errno(errno);
}

WaitResult futex_wait_for(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t wait_ns) {
  return futex_wait_until(word, expected, monotonic_now_ns() + wait_ns);
}

int futex_wake_all(std::atomic<uint32_t>& word) {
  const ErrnoGuard guard;
  const long woken = syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace gacer::shm
