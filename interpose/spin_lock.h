// SPDX-License-Identifier: Apache-2.0
// SpinLock: a one-word lock for short sections that hold no other lock and make no blocking call.
// Constant-initialised, trivially destructible, and may be forced open in a fork child. SleepLock:
// the same for sections that wait.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>

namespace gacer::interpose {

class SpinLock {
 public:
  bool try_lock() {
    // Pairs with the release in unlock().
    return !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    for (int attempt = 0; !try_lock(); ++attempt)
      if (attempt > 64) sched_yield();
  }
  void unlock() { held_.store(false, std::memory_order_release); }  // pairs with try_lock()

 private:
  std::atomic<bool> held_{false};
};

// For sections that may wait for the daemon: waiters sleep.
class SleepLock {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  void force_open() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

template <typename Lock>
class Guard {
 public:
  explicit Guard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Guard() { lock_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Lock& lock_;
};
using SpinGuard = Guard<SpinLock>;
using SleepGuard = Guard<SleepLock>;

}  // namespace gacer::interpose
