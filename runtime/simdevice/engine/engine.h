// SPDX-License-Identifier: Apache-2.0
// The simulated device in virtual time: streams, dependencies, kernels on SMs, copies. No I/O and
// no clock: the owner submits operations, moves time with advance_to() and is told through
// EngineHost when an operation starts (do its effect now) and when it has ended.
//
//   submit -> waiting (stream order, legacy stream, events) -> due at ready time -> started ->
//   ended
//                                                   kernels: blocks placed on SMs, SmArray
//                                                   copies: one copy engine a direction, FIFO
//                                                   device copies, memsets: MemoryFlows
//                                                   host functions, value waits: until
//                                                   finish_external()
//
// Not thread-safe. EngineHost callbacks run inside advance_to() and must not call the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/engine/memory_flows.h"
#include "runtime/simdevice/engine/op_table.h"
#include "runtime/simdevice/engine/sm_array.h"
#include "runtime/simdevice/engine/time_slicer.h"

namespace gacer::simdevice {

// How a started operation goes on.
struct StartedKernel {
  KernelCost cost;
  uint64_t blocks = 1;
};
struct StartResult {
  // Kernels: what runs; nullopt ends the operation at once (a fault, nothing to do).
  std::optional<StartedKernel> kernel;
  // Other kinds: true ends it at once without taking time.
  bool skip = false;
};

class EngineHost {
 public:
  virtual ~EngineHost() = default;
  virtual StartResult op_started(const Op& op, uint64_t now_ns) = 0;
  // `start_ns`: when the first block ran or the copy began.
  virtual void op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) = 0;
};

struct ClientConfig {
  bool mps =
      false;  // shares the SMs with all other MPS clients; else time-sliced against everybody
  uint32_t sm_cap = 0;          // 0: all
  int32_t priority_offset = 0;  // added to every priority (MPS client priority "below normal": > 0)
};

class Engine {
 public:
  // Both outlive the engine.
  Engine(const DeviceModel& device, EngineHost& host);

  uint32_t add_client(const ClientConfig& config);
  // Its streams and operations vanish without op_ended(); running blocks are removed.
  void remove_client(uint32_t client, uint64_t now_ns);

  uint32_t add_stream(uint32_t client, uint32_t context, StreamKind kind, int32_t priority,
                      const SmMask& sms = {});
  // What is queued still runs; the id is not valid for further submits.
  void remove_stream(uint32_t stream);

  // `now_ns` must not be before the last advance_to(); it is when the call reached the device.
  OpId submit(const OpSpec& spec, uint64_t now_ns);
  bool is_pending(OpId op) const { return ops_.find(op) != nullptr; }
  // Ends a host function or value wait that has started.
  void finish_external(OpId op, uint64_t now_ns);

  // Handles everything due up to and including now_ns.
  void advance_to(uint64_t now_ns);
  // When something happens next without further calls; kNever: nothing.
  uint64_t next_event_ns() const;
  uint64_t now_ns() const { return now_ns_; }

  size_t pending_ops(uint32_t client) const;
  // Resident threads of the client over those of the device; 0 while its context is switched out.
  double sm_share(uint32_t client) const;
  // The SMs as they run now; nullptr while contexts are being switched or nothing ever ran.
  const SmArray* active_sms() const { return slicer_.active(); }

 private:
  struct Client {
    ClientConfig config;
    SmArray* sms = nullptr;  // owned by slicer_
    uint32_t group = 0;
    size_t pending = 0;
  };
  struct Timer {
    uint64_t at_ns;
    uint64_t order;
    OpId op;
    bool operator>(const Timer& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  struct CopyQueue {
    std::deque<OpId> waiting;
    OpId running = 0;
  };

  void step(uint64_t now_ns);
  void run_timers(uint64_t now_ns);
  void timer_fired(Op& op, uint64_t now_ns);
  void start(Op& op, uint64_t now_ns);
  void start_kernel(Op& op, uint64_t now_ns);
  void start_copy(CopyQueue& queue, uint64_t now_ns);
  void start_host_copy(Op& op, uint64_t now_ns);
  void start_flow(Op& op, uint64_t now_ns);
  void start_instant(Op& op, uint64_t now_ns);
  CopyQueue* queue_of(OpKind kind);
  uint64_t copy_ns(const Op& op) const;
  void end(Op& op, uint64_t end_ns);
  void release_dependents(Op& op, uint64_t now_ns);
  void make_due(Op& op, uint64_t released_ns);
  void add_timer(uint64_t at_ns, OpId op);
  void retire(uint64_t now_ns);
  void forget_ops_of(uint32_t client);

  const DeviceModel& device_;
  EngineHost& host_;
  OpTable ops_;
  TimeSlicer slicer_;
  MemoryFlows flows_;
  CopyQueue to_device_, to_host_;
  std::unordered_map<uint32_t, Client> clients_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<std::unique_ptr<KernelRun>> done_runs_;
  std::vector<OpId> done_flows_;
  uint64_t now_ns_ = 0;
  uint64_t timer_order_ = 0;
  uint64_t arrivals_ = 0;
  uint32_t next_client_ = 1;
};

}  // namespace gacer::simdevice
