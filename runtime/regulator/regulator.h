// SPDX-License-Identifier: Apache-2.0
// The regulator core: events in, decisions out. No I/O, no clock, no threads: the same object runs
// in gacerd, in unit tests on a virtual clock and in `gacer simulate`.
//
//   attach/detach ─┐
//   launches ──────┼─> ledger ─> policy ─> GateDecision per process, KernelCost updates
//   progress ──────┘                       and the time of the next poll
//
// Contract
//  - All times are monotonic ns given by the caller and must not go backwards; a step back is
//    treated as "no time has passed".
//  - Values in LaunchEvent and ProgressEvent come from tenants: any value is legal, a forged one
//    can distort only the sender's own account.
//  - Not thread-safe: one thread owns it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::regulator {

enum class TenantClass { kLatency, kBatch };
enum class GateMode { kUngated, kWindow, kClosed };  // same order as abi::GateMode

// Same numbers as abi::Reason (checked in runtime/daemon).
enum class HoldReason { kNone = 0, kWindowFull = 1, kLatencyActive = 2, kNotMyQuantum = 3 };

// Events beyond these numbers are ignored (same as abi::kStreamSlots and abi::kCostSlots, checked
// in runtime/daemon).
inline constexpr uint32_t kMaxStreamSlots = 64;
inline constexpr uint32_t kMaxCostSlots = 4096;

struct DeviceShape {  // of the GPU, for SM shares; zeros: unknown
  uint32_t sm_count = 0;
  uint32_t threads_per_sm = 0;
  uint32_t regs_per_sm = 0;
  uint32_t smem_per_sm_bytes = 0;
  uint32_t blocks_per_sm = 0;
};

struct TenantConfig {
  std::string name;
  uint32_t uid = 0;
  TenantClass tenant_class = TenantClass::kBatch;
  uint32_t weight = 1;
  int32_t priority = 0;
  uint64_t memory_limit_bytes = 0;
};

using ProcessId = uint64_t;

struct LaunchEvent {
  uint64_t submit_ns = 0;
  uint64_t kernel_id = 0;
  uint64_t stream_cost_ns = 0;  // cumulative cost on its stream slot after this launch
  uint64_t blocks = 0;
  uint32_t cost_slot = 0;  // where the tenant looks its cost up
  uint32_t cost_ns = 0;    // charged
  uint32_t wait_ns = 0;
  uint32_t smem_bytes = 0;
  uint32_t block_threads = 0;
  uint32_t regs_per_thread = 0;
  uint32_t kind = 0;  // as abi::LaunchKind
  uint32_t stream_slot = 0;
  uint32_t reason = 0;  // as abi::Reason
};

struct StreamProgress {
  uint32_t slot = 0;
  uint64_t submitted_cost_ns = 0;
  uint64_t completed_cost_ns = 0;
};

struct ProgressEvent {
  std::vector<StreamProgress> streams;  // slots in use
  uint64_t launches = 0;
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
  uint64_t deadline_releases = 0;
  uint32_t waiting_threads = 0;
};

struct GateDecision {
  GateMode mode = GateMode::kUngated;
  HoldReason reason = HoldReason::kNone;
  uint64_t window_ns = 0;
  uint64_t max_wait_ns = 0;
  uint32_t mark_every = 0;           // 0: no completion marks wanted
  bool record = false;               // launch records wanted
  int32_t stream_priority_rank = 0;  // +1 highest of the device, 0 keep, -1 lowest
  friend bool operator==(const GateDecision&, const GateDecision&) = default;
};

struct ProcessDecision {
  ProcessId process = 0;
  GateDecision gate;
};

struct KernelCost {
  ProcessId process = 0;
  uint32_t cost_slot = 0;
  uint32_t cost_ns = 0;
};

struct TenantSnapshot {
  uint64_t tenant_id = 0;
  TenantConfig config;
  std::vector<ProcessId> processes;
  uint64_t launches = 0;
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
  uint64_t deadline_releases = 0;
  uint64_t in_flight_ns = 0;  // whole-GPU ns submitted and not completed
  uint64_t completed_cost_ns = 0;
  uint64_t busy_ns = 0;        // time with work in flight
  uint64_t stale_streams = 0;  // times a stream's counters stood still and were taken as idle
  bool active = false;
  GateDecision gate;
};

struct Snapshot {
  std::string policy;
  uint64_t generation = 0;
  bool latency_active = false;
  std::vector<TenantSnapshot> tenants;
};

class Regulator {
 public:
  // Knobs and their ranges are rows of tuning.def; policy names are rows of policies.def. Null for
  // an unknown name.
  static std::unique_ptr<Regulator> create(std::string_view policy_name = "priority");
  virtual ~Regulator() = default;

  // Processes with equal (name, uid) are one tenant; the first one's config counts. Returns the
  // tenant's id. Precondition: `process` was never used before.
  virtual Result<uint64_t> attach(ProcessId process, const TenantConfig& config,
                                  const DeviceShape& device, uint64_t now_ns) = 0;
  virtual void detach(ProcessId process, uint64_t now_ns) = 0;

  virtual void on_launch(ProcessId process, const LaunchEvent& launch) = 0;
  virtual void on_progress(ProcessId process, const ProgressEvent& progress, uint64_t now_ns) = 0;

  // Decides for the state as of now_ns; appends only processes whose decision changed since the
  // last call, and cost estimates that changed by more than the `cost_step_percent` knob.
  virtual void decide(uint64_t now_ns, std::vector<ProcessDecision>& gates,
                      std::vector<KernelCost>& costs) = 0;

  // Absolute time at which the caller should poll progress and call decide() again if nothing
  // happens: soon while somebody is gated or marks are outstanding, late when idle.
  virtual uint64_t next_wakeup_ns(uint64_t now_ns) const = 0;

  // "priority", "window_us=500", ...: validated, then applied as one new generation; on error
  // nothing changes.
  virtual Status set_policy(std::string_view name) = 0;
  virtual Status tune(std::string_view key, std::string_view value) = 0;

  struct Knob {
    std::string key, value, unit, range, help;
  };
  virtual std::vector<Knob> knobs() const = 0;
  virtual Snapshot snapshot() const = 0;

  // Parts of the snapshot that are needed at each decision, without building one.
  virtual uint64_t generation() const = 0;
  virtual bool latency_active() const = 0;    // as of the last decide()
  virtual uint32_t policy_index() const = 0;  // row of policies.def, from 0; published on the board
};

// Names of policies.def in row order.
std::vector<std::string_view> policy_names();

}  // namespace gacer::regulator
