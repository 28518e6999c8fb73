// SPDX-License-Identifier: Apache-2.0
// Layout of the sealed memfd that one tenant process and the daemon share, and of the read-only
// board.
//
//   segment: | header 64 | gate words 128 | progress 128 | stream slots 64x64 | cost table 16 KiB |
//   ring ctl 128 | ring 256 KiB | coverage |
//              daemon      daemon           shim           shim+GPU            daemon both shim,
//              shim
//
// Who writes what is fixed per word (below). The daemon trusts nothing that a tenant can write: it
// copies a value once, checks it, then uses the copy. Zeroed memory means "free / nothing yet"
// everywhere. Readiness: the creator stores header.version last with release; the opener loads it
// with acquire; 0 means not ready, another value than kAbiVersion means refuse. Fixed-width types
// only; no pointers, no bool, no size_t. Sizes and offsets are checked in abi_checks.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/abi/coverage.h"
#include "runtime/abi/version.h"

namespace gacer::abi {

inline constexpr uint32_t kStreamSlots = 64;
inline constexpr uint32_t kCostSlots = 4096;
inline constexpr uint32_t kRingSlots = 4096;  // power of two

enum class GateMode : uint32_t {
  kUngated = 0,  // launches go at once (latency class, lone tenant, passthrough)
  kWindow =
      1,  // a launch goes while in-flight cost + its cost <= window_ns, or nothing is in flight
  kClosed = 2,    // a launch waits until the mode changes or max_wait_ns has passed
  kDetached = 3,  // the daemon is leaving: pass through and attach again later
};

enum GateFlags : uint32_t {
  kFlagRecord = 1u << 0,  // push a LaunchRecord for each launch
};

// Reason codes: one list for daemon, shim, tools and docs.
#define GACER_REASONS(X)                                              \
  X(kNone, 0, "none", "not held")                                     \
  X(kWindowFull, 1, "window", "the tenant's own window is full")      \
  X(kLatencyActive, 2, "latency", "a latency tenant has work")        \
  X(kNotMyQuantum, 3, "quantum", "another tenant has the time slice") \
  X(kDeadline, 4, "deadline", "released by the wait bound")           \
  X(kDaemonGone, 5, "daemon-gone", "released because the daemon is gone")

enum class Reason : uint32_t {
#define GACER_ENUM(name, value, text, help) name = (value),
  GACER_REASONS(GACER_ENUM)
#undef GACER_ENUM
};
inline constexpr uint32_t kReasonCount = 6;

struct alignas(64) SegmentHeader {
  uint64_t magic;
  uint64_t segment_bytes;
  uint64_t tenant_id;
  uint64_t process_id;  // the daemon's number for this attachment, never reused
  uint32_t stream_slots;
  uint32_t cost_slots;
  uint32_t ring_slots;
  uint8_t reserved[16];
  std::atomic<uint32_t> version;  // last; release by creator, acquire by opener
};

// Daemon writes, shim reads. One decision = store the words relaxed, then gate_seq.fetch_add(1,
// release) [pairs with the shim's acquire load of gate_seq], then FUTEX_WAKE on gate_seq if
// progress.waiting_threads != 0. A reader may see a mix of two decisions for one launch; each word
// alone is always valid.
struct alignas(64) GateWords {
  std::atomic<uint32_t> gate_seq;  // futex word
  std::atomic<uint32_t> mode;      // GateMode
  std::atomic<uint32_t> flags;     // GateFlags
  std::atomic<uint32_t>
      mark_every;  // completion mark after this many launches of a stream; 0: never
  std::atomic<uint64_t> window_ns;     // whole-GPU ns in flight
  std::atomic<uint64_t> max_wait_ns;   // bound of one launch's wait
  std::atomic<uint64_t> generation;    // of the configuration these words come from
  std::atomic<uint32_t> reason;        // Reason given to launches held by mode kClosed
  std::atomic<uint32_t> slice_blocks;  // 0: unsliced (used by the slicer)
  std::atomic<int32_t>
      stream_priority;  // for streams created from now on; kPriorityKeep: the program's own
  uint32_t reserved0;
  std::atomic<uint64_t> memory_limit_bytes;  // of the tenant; 0: none
  uint8_t reserved[64];
};
inline constexpr int32_t kPriorityKeep = INT32_MIN;
// CUDA's sign: below 0 is urgent. Which half of the device's levels the tenant's streams go into.
inline constexpr int32_t kPriorityHighest = INT32_MIN + 1;
inline constexpr int32_t kPriorityLowest = INT32_MAX;

// Shim writes (any thread, relaxed adds unless said), daemon reads.
struct alignas(64) ProgressWords {
  std::atomic<uint64_t> launches;  // all but alone_launches
  std::atomic<uint64_t> waits;     // launches that had to wait
  std::atomic<uint64_t> wait_ns;   // sum
  std::atomic<uint64_t> deadline_releases;
  std::atomic<uint64_t> dropped_records;  // ring full
  std::atomic<uint64_t> unregulated;      // sum of coverage.attached
  std::atomic<uint32_t>
      waiting_threads;  // seq_cst: announces before FUTEX_WAIT, read by the daemon after gate_seq
  std::atomic<uint32_t> live_streams;
  std::atomic<uint64_t> memory_bytes;  // this process's accounted device memory
  std::atomic<uint64_t> wait_ns_by_reason[kReasonCount];
  // Launches that are not in `launches`: by the only thread that makes any, which alone writes
  // this.
  std::atomic<uint64_t> alone_launches;
  uint8_t reserved[8];
};

// One per stream the process launches on. Costs are cumulative whole-GPU ns since the slot was
// taken. in flight = submitted - completed (both wrap-free). The slot is idle when they are equal.
struct alignas(64) StreamSlot {
  std::atomic<uint64_t>
      completed_cost_ns;  // written by the GPU (stream write) or by the shim after an event
  std::atomic<uint64_t> submitted_cost_ns;  // shim
  std::atomic<uint64_t> marked_cost_ns;     // shim: the value the newest mark will write
  std::atomic<uint64_t> launches;           // shim
  std::atomic<uint32_t> in_use;             // shim; 0: free
  uint8_t reserved[28];
};

// Daemon writes, shim reads: estimated cost of the kernel that the shim gave this slot
// (LaunchRecord.cost_slot). 0: unknown, the shim uses its own guess.
struct CostTable {
  std::atomic<uint32_t> cost_ns[kCostSlots];
};

enum class LaunchKind : uint8_t { kKernel = 1, kCopy = 2, kMemset = 3, kGraph = 4 };

// 64 bytes. A slot of the ring; `sequence` is the publication word of a bounded multi-producer
// queue: slot i is free for ticket t (t % slots == i) when sequence == t, filled when sequence == t
// + 1 (release by the producer, acquire by the daemon); the daemon frees it by storing t + slots
// (release / acquire).
struct alignas(64) LaunchRecord {
  std::atomic<uint64_t> sequence;
  uint64_t submit_ns;       // CLOCK_MONOTONIC before the driver call
  uint64_t kernel_id;       // stable hash of module image and function name; 0 for copies
  uint64_t stream_cost_ns;  // slot's submitted_cost_ns after this launch
  uint64_t blocks_or_bytes;
  uint32_t cost_slot;   // index into CostTable; kNoCostSlot: none
  uint32_t cost_ns;     // what was charged
  uint32_t wait_ns;     // saturates
  uint32_t smem_bytes;  // per block, static + dynamic
  uint16_t block_threads;
  uint16_t regs_per_thread;
  uint8_t kind;  // LaunchKind
  uint8_t stream_slot;
  uint8_t reason;  // Reason of the wait
  uint8_t flags;
};
inline constexpr uint32_t kNoCostSlot = UINT32_MAX;

struct alignas(64) RingControl {
  std::atomic<uint64_t>
      tail;  // shim: next ticket (relaxed fetch_add or CAS; the slot's sequence publishes)
  uint8_t reserved0[56];
  std::atomic<uint64_t> head;  // daemon: next ticket to read; informative for the shim
  uint8_t reserved1[56];
};

// Calls that reached the driver unregulated, by function and stream kind. Shim: relaxed adds.
struct CoverageCounts {
  std::atomic<uint64_t> calls[kCoveredFunctionCount][kCoverageStreamCount];
};

// A launch or allocation function that the shim has no row for, such as one of a newer driver.
struct alignas(64) UnknownFunction {
  char name[kUnknownNameBytes];  // NUL-terminated; written before `named`
  std::atomic<uint32_t> named;   // 1: the row is in use; release by the shim, acquire by the daemon
  std::atomic<uint32_t> handed_out;  // pointers to it that a lookup gave to the program
  std::atomic<uint64_t> calls;       // through the shim's forwarder
};

// Since this attachment; what was counted before it, while detached, is in `before_attach`.
struct alignas(64) CoverageWords {
  CoverageCounts attached;
  CoverageCounts before_attach;          // stored once, on attaching
  std::atomic<uint64_t> unknown_beyond;  // functions that found no free row below
  UnknownFunction unknown[kUnknownFunctionRows];
};

struct Segment {
  SegmentHeader header;
  GateWords gate;
  ProgressWords progress;
  StreamSlot streams[kStreamSlots];
  CostTable costs;
  RingControl ring_control;
  LaunchRecord ring[kRingSlots];
  CoverageWords coverage;
};

// Read-only for tenants, one for all, written by the daemon.
struct alignas(64) Board {
  uint64_t magic;
  std::atomic<uint64_t> heartbeat_ns;  // CLOCK_MONOTONIC, at least every 100 ms
  std::atomic<uint32_t> tenants;
  std::atomic<uint32_t> latency_active;  // 1 while a latency tenant has work in flight
  std::atomic<uint32_t> policy;          // index of the policy row
  uint8_t reserved[32];
  std::atomic<uint32_t> version;  // as in SegmentHeader
};
inline constexpr uint64_t kHeartbeatStaleNs = 1'000'000'000;

}  // namespace gacer::abi
