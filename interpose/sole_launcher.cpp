// SPDX-License-Identifier: Apache-2.0
#include "interpose/sole_launcher.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace gacer::interpose {
namespace {

bool membarrier(int command) {
  const int saved = errno;
  const bool done = syscall(SYS_membarrier, command, 0, 0) == 0;
  errno = saved;
  return done;
}

}  // namespace

bool SoleLauncher::claim(uint64_t me) {
  uint64_t owner = owner_.load(std::memory_order_acquire);  // pairs with take_away()
  if (owner == kSeveral) return false;
  if (owner == kNobody) {
    const bool usable = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    const uint64_t next = usable ? me : kSeveral;
    if (owner_.compare_exchange_strong(owner, next, std::memory_order_relaxed))
      return usable && enter_as(me);
  }
  if (owner != kSeveral) take_away();
  return false;
}

// Also by threads that come while another is at it: each must know that the owner is outside.
void SoleLauncher::take_away() {
  owner_.store(kTaken, std::memory_order_relaxed);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  // Pairs with leave(): what the owner did before is seen.
  while (inside_.load(std::memory_order_acquire)) sched_yield();
  owner_.store(kSeveral, std::memory_order_release);  // pairs with claim()
}

}  // namespace gacer::interpose
