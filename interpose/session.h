// SPDX-License-Identifier: Apache-2.0
// The connection of this process to a daemon, from the first CUDA call that needs one.
//
//   detached --attach, at most every 500 ms--> attached --socket ended, or the daemon says so-->
//   detached
//                                                 |  heartbeat stale: launches pass, the attachment
//                                                 stays
//
// Any failure means pass-through; the first one, and only it, is worth a line. Thread-safe; never
// throws; leaves errno, signals and descriptors below 512 of the host as they are.
//
// A fork child starts detached, whichever way it was made: what says "attached" is on a page that
// the kernel hands to children as zeros, so that even a raw clone() cannot go on in its parent's
// segment.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/attachment.h"
#include "interpose/kernel_registry.h"
#include "interpose/launch_clock.h"
#include "interpose/tenant_config.h"

namespace gacer::shm {
struct Attachment;
}

namespace gacer::interpose {

inline constexpr uint64_t kAttachRetryNs = 500'000'000;
inline constexpr uint64_t kAttachRetryAfterRefusalNs = 10'000'000'000;
inline constexpr uint32_t kAttachTimeoutMs = 1000;
inline constexpr uint64_t kAttachPatienceNs = 50'000'000;  // of launches of other threads meanwhile
inline constexpr uint64_t kHeartbeatDoubtNs = 300'000'000;         // older: look at the socket
inline constexpr uint64_t kAttachRetryWhenBusyNs = 1'000'000'000;  // doubled by each further one
inline constexpr uint64_t kAttachRetryLongestNs = 32'000'000'000;
// Each attachment leaves about 30 KiB behind (see retire_mappings()). A daemon that came and went
// so often is met again once a minute only.
inline constexpr uint32_t kAttachmentsAtOnce = 1024;
inline constexpr uint64_t kAttachRetryAfterManyNs = 60'000'000'000;

// The greatest page size of the machine: what is wiped in a fork child must own its pages.
#if defined(__aarch64__)
inline constexpr size_t kWipedBytes = 65536;
#else
inline constexpr size_t kWipedBytes = 4096;
#endif

// The words that the launch path of a lone tenant reads; see launch_path.h. One per process, of C
// linkage since the x86-64 entry points name it in assembly. All zero at start and in a fork child.
struct alignas(kWipedBytes) FastPath {
  static constexpr uint64_t kNever = UINT64_MAX;
  std::atomic<abi::Segment*> segment{nullptr};  // NULL: detached
  std::atomic<uint64_t> lone_seq{0};            // gate_seq at which nothing was asked of us
  std::atomic<uint64_t> next_check{0};          // launches at which check_daemon() is due
  std::atomic<Attachment*> current{nullptr};
  std::atomic<uint32_t> claim{0};  // Claim: whether this process has made the page its own
};
extern "C" FastPath gacer_fast_path;

inline constexpr uint32_t kMemoryDevices = 64;

struct MemoryRequest {
  abi::DeviceUuid device;
  uint64_t bytes;
  abi::MemoryKind kind;
};
// Of the tenant on that device, after the request.
struct MemoryReply {
  bool granted = false;
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = 0;  // 0: none
  uint64_t overhead_bytes = 0;
};

class Session {
 public:
  // NULL: detached. Tries to attach when an attempt is due; other threads pass through meanwhile.
  Attachment* ensure();
  Attachment* current() const {
    return gacer_fast_path.current.load(std::memory_order_acquire);  // pairs with publish()
  }

  // Where another thread is attaching: waits for it, but not after kAttachPatienceNs since it
  // began.
  Attachment* await_attach();

  void detach(Attachment& attachment);
  // Liveness, adaptive: reschedules itself by launch count for about every 10 ms.
  void check_daemon(Attachment& attachment, uint64_t launches);
  // The socket has ended, or the heartbeat is stale (the launch path passes until it returns).
  bool daemon_gone(Attachment& attachment);

  const TenantConfig& config();
  // By value: attaching again may replace them at any time.
  DeviceFacts device() const {
    const uint64_t word = device_word_.load(std::memory_order_relaxed);
    return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
  const LaunchClock& clock() const { return clock_; }

  // Quota requests; one at a time, each bounded by the socket's time-out. False: no answer, now
  // detached.
  bool reserve_memory(Attachment& attachment, const MemoryRequest& request, MemoryReply& reply);
  void release_memory(Attachment& attachment, const MemoryRequest& request);

  // Memory that this process holds on the device of that ordinal; told to the daemon on attaching.
  // Precondition: below kMemoryDevices.
  std::atomic<uint64_t>& memory_in_use(uint32_t device) { return memory_in_use_[device]; }
  uint64_t memory_in_use_of_all() const;

  // In a fork child: forgets the parent's attachment, takes no lock.
  void after_fork_in_child();
  // To be called in each fork child before anything else: by the C library after fork(), by
  // ensure() where the child was made without it.
  void set_fork_handler(void (*handler)()) {
    fork_handler_.store(handler, std::memory_order_relaxed);
  }

  // For tests: the next ensure() is an attempt, whatever the last one's outcome.
  void retry_at_once() { next_attempt_ns_.store(0, std::memory_order_relaxed); }
  // For tests: in force without a daemon.
  void publish(Attachment* attachment);

 private:
  enum class Claim : uint32_t { kNobodys = 0, kUnderWay, kOurs };

  bool claim_process();
  void prepare_for_forks();
  void read_config();
  bool read_device(abi::HelloMessage& hello);
  void try_attach(uint64_t now_ns);
  void connect(const abi::HelloMessage& hello);
  void put_in_force(shm::Attachment& answer, const abi::HelloMessage& hello);
  uint64_t retry_delay_ns(int code);
  bool socket_gone(const Attachment& attachment) const;
  void warn_once(const char* text);
  void keep_in_sight(Attachment* parents);

  std::atomic<uint64_t> next_attempt_ns_{0};
  std::atomic<uint64_t> memory_in_use_[kMemoryDevices] = {};
  uint32_t hello_device_ = 0;  // ordinal of the device that the hello names
  SpinLock attach_lock_;
  std::atomic<uint64_t> attaching_since_ns_{0};  // 0: nobody is
  SleepLock request_lock_;
  std::atomic<bool> config_read_{false};
  std::atomic<bool> warned_{false};
  bool prepared_for_forks_ = false;
  std::atomic<void (*)()> fork_handler_{nullptr};
  Attachment* newest_ = nullptr;
  Attachment* inherited_ = nullptr;  // in a fork child: kept within a leak checker's sight
  std::atomic<uint32_t> attachments_{0};
  uint32_t busy_answers_ = 0;  // in a row
  std::atomic<uint64_t> last_check_ns_{0};
  std::atomic<uint64_t> check_interval_{1};
  TenantConfig config_;
  std::atomic<uint64_t> device_word_{0};  // sm_count, threads_per_sm in the high half
  LaunchClock clock_;
};

}  // namespace gacer::interpose
