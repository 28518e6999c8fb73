// SPDX-License-Identifier: Apache-2.0
// Device memory of this process against its tenant's limit.
//
//   reserve(bytes) -> the driver allocates -> commit(pointer, bytes)   or cancel(bytes)
//   ... release(pointer) when it is freed
//
// With a daemon the limit counts for all processes of the tenant and reserve() asks it; without one
// the limit last known (or GACER_MEM) holds for this process alone. Without a limit nothing is
// asked, only counted. Thread-safe. A request waits for the daemon at most as long as its socket's
// time-out (1 s).
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/flat_map.h"
#include "interpose/session.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

class MemoryLedger {
 public:
  explicit constexpr MemoryLedger(Session& session) : session_(session) {}

  // False: over the limit; the program gets CUDA_ERROR_OUT_OF_MEMORY.
  bool reserve(uint64_t bytes);
  void cancel(uint64_t bytes);
  void commit(uint64_t pointer, uint64_t bytes);
  // Unknown pointers are none of our business. Returns the bytes that were released.
  uint64_t release(uint64_t pointer);
  // The driver refused that free: charged again, even past the limit.
  void restore(uint64_t pointer, uint64_t bytes);

  // 0: none.
  uint64_t limit_bytes();
  uint64_t used_bytes() { return session_.memory_in_use().load(std::memory_order_relaxed); }
  // What cuMemGetInfo should tell: at least what this process uses, other processes' share as last
  // heard.
  uint64_t tenant_used_bytes();

  // In a fork child, before any other thread exists.
  void reset();

 private:
  void know_attachment(Attachment& attachment);
  bool reserve_at_daemon(Attachment& attachment, uint64_t bytes, bool& granted);
  bool reserve_locally(uint64_t bytes, uint64_t limit);
  void add(uint64_t bytes);
  void subtract(uint64_t bytes);
  void give_back(uint64_t bytes);

  Session& session_;
  SleepLock lock_;
  FlatMap allocations_;  // device pointer -> bytes
  std::atomic<uint64_t> last_limit_bytes_{0};
  std::atomic<bool> limit_heard_{false};
  std::atomic<uint64_t> others_bytes_{0};  // other processes of this tenant, as last heard
  Attachment* reported_to_ = nullptr;      // whose ledger reported_bytes_ is about
  uint64_t reported_bytes_ = 0;
};

}  // namespace gacer::interpose
