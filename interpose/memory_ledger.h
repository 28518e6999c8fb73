// SPDX-License-Identifier: Apache-2.0
// Device memory of this process against its tenant's limit, one account per device.
//
//   reserve(device, bytes) -> the driver allocates -> keep(record)   or cancel(device, bytes)
//   ... take(key) -> the driver frees -> give_back(record)           or put_back(record)
//
// The limit holds for each device by itself. With a daemon it counts for all processes of the
// tenant and reserve() asks there; without one the limit last known (or GACER_MEM) holds for this
// process alone. Without a limit nothing is asked, only counted. Memory counts until the driver has
// taken it back, so that a neighbour is never granted what is not free yet.
//
// Thread-safe. A request waits for the daemon at most as long as its socket's time-out (1 s).
// Allocations of kNoDevice are of no quota: granted, not counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/memory_devices.h"
#include "interpose/memory_records.h"
#include "interpose/session.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

// Of the tenant on one device.
struct MemoryView {
  uint64_t limit_bytes = 0;     // 0: none
  uint64_t used_bytes = 0;      // what counts against the limit, never wrapped; may exceed it
  uint64_t overhead_bytes = 0;  // contexts and modules, estimated
  uint64_t total_bytes = 0;     // of the device
};

class MemoryLedger {
 public:
  explicit constexpr MemoryLedger(Session& session) : session_(session) {}

  // False: over the limit; the program gets CUDA_ERROR_OUT_OF_MEMORY.
  bool reserve(uint32_t device, uint64_t bytes);
  void cancel(uint32_t device, uint64_t bytes);
  // Counted even above the limit: it is there already.
  void force(uint32_t device, uint64_t bytes);
  // Estimated, see memory_overhead.h.
  void add_overhead(uint32_t device, uint64_t bytes);
  void remove_overhead(uint32_t device, uint64_t bytes);

  // The reserved bytes belong to this key from now on.
  void keep(const MemoryRecord& record);
  // False: not ours. The bytes stay counted until give_back() or put_back().
  bool take(uint64_t key, MemoryRecord& record);
  void give_back(const MemoryRecord& record) { cancel(record.device, record.bytes); }
  void put_back(const MemoryRecord& record);  // the driver refused the free
  // The driver has freed all that belonged to it.
  void context_gone(CUcontext context);

  // True: a limit applies (or the daemon last said so) and reserve() compares.
  bool limited();
  // Asks the daemon where there is one.
  MemoryView view(uint32_t device);
  uint64_t used_bytes() { return session_.memory_in_use_of_all(); }
  uint64_t used_bytes(uint32_t device) {
    return session_.memory_in_use(device).load(std::memory_order_relaxed);
  }
  uint64_t overhead_bytes(uint32_t device);

  // Tells a daemon that has just been met what is held on which device.
  void tell(Attachment& attachment);

  MemoryDevices& devices() { return devices_; }

  // In a fork child, before any other thread exists.
  void reset();

 private:
  struct Account {
    uint64_t overhead_bytes = 0;
    uint64_t counted_overhead_bytes = 0;  // by the local rule, while no daemon is there
    // What the daemon knows of.
    uint64_t reported_bytes = 0;
    uint64_t reported_overhead_bytes = 0;
    // The tenant's, without this process, as last heard.
    uint64_t others_bytes = 0;
  };

  uint64_t limit_bytes();
  void know_attachment(Attachment& attachment);
  bool ask(Attachment& attachment, uint32_t device, uint64_t bytes, abi::MemoryKind kind,
           MemoryReply& reply);
  bool catch_up(Attachment& attachment, uint32_t device, MemoryReply& reply);
  bool reserve_at_daemon(Attachment& attachment, uint32_t device, uint64_t bytes,
                         MemoryReply& reply);
  bool reserve_locally(uint32_t device, uint64_t bytes, uint64_t limit);
  uint64_t locally_used(uint32_t device);
  void count_overhead_locally(Account& account);
  void add(uint32_t device, uint64_t bytes);
  void subtract(uint32_t device, uint64_t bytes);
  void release(uint32_t device, uint64_t bytes);

  Session& session_;
  MemoryDevices devices_;
  SleepLock lock_;
  MemoryRecords records_;
  std::atomic<uint64_t> last_limit_bytes_{0};  // from the segment
  std::atomic<bool> limit_heard_{false};
  // From the daemon's last answer: unlike the segment, out of the program's reach by mistake.
  std::atomic<uint64_t> answered_limit_bytes_{0};
  Attachment* reported_to_ = nullptr;  // whose ledger the reported_ numbers are about
  Attachment* told_to_ = nullptr;      // heard of every device, see tell()
  Account accounts_[kMaxDevices];
};

}  // namespace gacer::interpose
