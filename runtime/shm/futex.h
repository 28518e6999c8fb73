// SPDX-License-Identifier: Apache-2.0
// Waiting on a 32-bit word that another process changes. Thread-safe, no allocation, no throw.
// Source: futex(2).
#pragma once

#include <atomic>
#include <cstdint>

namespace gacer::shm {

enum class WaitResult {
  kWoken,         // by futex_wake_all, or spuriously: look at the word again
  kValueChanged,  // the word no longer held `expected`
  kTimedOut,
  kInterrupted,  // a signal handler ran
};

// Sleeps while `word` holds `expected`, at most until `deadline_ns` of CLOCK_MONOTONIC. Errors that
// cannot be told apart from a wake-up are reported as kWoken; a caller loops on its own condition
// anyway.
WaitResult futex_wait_until(const std::atomic<uint32_t>& word, uint32_t expected,
                            uint64_t deadline_ns);

// The same with a duration from now.
WaitResult futex_wait_for(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t wait_ns);

// Returns how many threads, in any process, were woken.
int futex_wake_all(std::atomic<uint32_t>& word);

}  // namespace gacer::shm
