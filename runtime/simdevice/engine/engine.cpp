// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

// A device copy or memset against one SM: two dozen SMs saturate DRAM, and so does a copy kernel.
constexpr double kFlowWeight = 24.0;
constexpr double kFlowShareOfDram = 0.85;

bool takes_time(OpKind kind) {
  return kind != OpKind::kInstant && kind != OpKind::kExternal;
}

}  // namespace

Engine::Engine(const DeviceModel& device, EngineHost& host)
    : device_(device),
      host_(host),
      slicer_(device),
      flows_(device.spec.dram_bytes_per_ns * device.memory.dram_efficiency * kFlowShareOfDram,
             kFlowWeight) {}

uint32_t Engine::add_client(const ClientConfig& config) {
  const uint32_t id = next_client_++;
  Client client;
  client.config = config;
  client.group = config.mps ? 0 : id;
  client.sms = &slicer_.array(client.group);
  if (config.sm_cap > 0) client.sms->set_sm_cap(id, config.sm_cap);
  clients_.emplace(id, client);
  return id;
}

void Engine::remove_client(uint32_t id, uint64_t now_ns) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  advance_to(now_ns);
  forget_ops_of(id);
  found->second.sms->remove_client(id);
  if (found->second.group != 0) slicer_.remove(found->second.group, now_ns_);
  clients_.erase(found);
  step(now_ns_);
}

void Engine::forget_ops_of(uint32_t client) {
  std::vector<std::unique_ptr<Op>> erased;
  ops_.erase_client(client, erased);
  for (const auto& op : erased) {
    flows_.remove(op->id);
    if (op->expected) clients_[client].sms->unexpect_run();
  }
  for (CopyQueue* queue : {&to_device_, &to_host_}) {
    if (queue->running == 0 || ops_.find(queue->running) != nullptr) continue;
    queue->running = 0;
    start_copy(*queue, now_ns_);
  }
}

uint32_t Engine::add_stream(uint32_t client, uint32_t context, StreamKind kind, int32_t priority,
                            const SmMask& sms) {
  return ops_.add_stream(client, context, kind, priority, sms);
}

void Engine::remove_stream(uint32_t stream) {
  ops_.remove_stream(stream);
}

OpId Engine::submit(const OpSpec& spec, uint64_t now_ns) {
  Op& op = ops_.add(spec, now_ns);
  ++clients_[op.client].pending;
  if (op.unresolved == 0) make_due(op, 0);
  return op.id;
}

void Engine::make_due(Op& op, uint64_t released_ns) {
  uint64_t due_ns = std::max(op.submit_ns, released_ns);
  if (takes_time(op.spec.kind)) {
    const bool graph = op.spec.from_graph;
    due_ns = op.submit_ns + (graph ? kGraphNodeLatencyNs : kLaunchLatencyNs);
    if (released_ns > 0)
      due_ns = std::max(due_ns, released_ns + (graph ? kGraphGapNs : kStreamGapNs));
  }
  op.state = OpState::kDue;
  op.expected = op.spec.kind == OpKind::kKernel && released_ns > 0;
  if (op.expected) clients_[op.client].sms->expect_run();
  add_timer(due_ns, op.id);
}

void Engine::add_timer(uint64_t at_ns, OpId op) {
  timers_.push({at_ns, timer_order_++, op});
}

void Engine::finish_external(OpId id, uint64_t now_ns) {
  Op* op = ops_.find(id);
  if (op == nullptr || op->state != OpState::kRunning || op->spec.kind != OpKind::kExternal) return;
  add_timer(std::max(now_ns, now_ns_), id);
}

uint64_t Engine::next_event_ns() const {
  const SmArray* sms = slicer_.active();
  uint64_t next = sms != nullptr ? sms->next_end_ns() : flows_.next_end_ns();
  next = std::min(next, slicer_.next_event_ns());
  if (!timers_.empty()) next = std::min(next, timers_.top().at_ns);
  return next;
}

void Engine::advance_to(uint64_t target_ns) {
  for (uint64_t next = next_event_ns(); next <= target_ns; next = next_event_ns())
    step(std::max(next, now_ns_));
  now_ns_ = std::max(now_ns_, target_ns);
}

void Engine::step(uint64_t now_ns) {
  now_ns_ = now_ns;
  retire(now_ns);
  run_timers(now_ns);
  slicer_.update(now_ns);
  SmArray* sms = slicer_.active();
  if (sms != nullptr) {
    sms->dispatch(now_ns);
    sms->settle(now_ns, flows_);
  } else {
    flows_.advance(now_ns);
    flows_.set_rates(now_ns, INFINITY);
  }
}

void Engine::retire(uint64_t now_ns) {
  if (SmArray* sms = slicer_.active()) sms->retire(now_ns, done_runs_);
  for (const auto& run : done_runs_) {
    Op* op = ops_.find(run->op);
    if (op == nullptr) continue;
    op->start_ns = run->first_block_ns;
    end(*op, now_ns);
  }
  done_runs_.clear();
  flows_.retire(now_ns, done_flows_);
  for (const OpId id : done_flows_)
    if (Op* op = ops_.find(id)) end(*op, now_ns);
  done_flows_.clear();
}

void Engine::run_timers(uint64_t now_ns) {
  while (!timers_.empty() && timers_.top().at_ns <= now_ns) {
    const OpId id = timers_.top().op;
    timers_.pop();
    if (Op* op = ops_.find(id)) timer_fired(*op, now_ns);
  }
}

void Engine::timer_fired(Op& op, uint64_t now_ns) {
  if (op.state == OpState::kDue) return start(op, now_ns);
  if (op.state != OpState::kRunning) return;
  CopyQueue* queue = queue_of(op.spec.kind);
  if (queue != nullptr) queue->running = 0;
  end(op, now_ns);
  if (queue != nullptr) start_copy(*queue, now_ns);
}

void Engine::start(Op& op, uint64_t now_ns) {
  op.start_ns = now_ns;
  switch (op.spec.kind) {
    case OpKind::kKernel:
      return start_kernel(op, now_ns);
    case OpKind::kCopyToDevice:
    case OpKind::kCopyToHost: {
      CopyQueue& queue = *queue_of(op.spec.kind);
      op.state = OpState::kQueued;
      queue.waiting.push_back(op.id);
      return start_copy(queue, now_ns);
    }
    case OpKind::kCopyOnDevice:
    case OpKind::kMemset:
      return start_flow(op, now_ns);
    case OpKind::kCopyOnHost:
      return start_host_copy(op, now_ns);
    case OpKind::kInstant:
    case OpKind::kExternal:
      return start_instant(op, now_ns);
  }
}

void Engine::start_kernel(Op& op, uint64_t now_ns) {
  op.state = OpState::kRunning;
  if (std::exchange(op.expected, false)) clients_[op.client].sms->unexpect_run();
  const StartResult result = host_.op_started(op, now_ns);
  if (!result.kernel || result.kernel->blocks == 0) return end(op, now_ns);
  const Client& client = clients_[op.client];
  auto run = std::make_unique<KernelRun>();
  run->op = op.id;
  run->client = op.client;
  run->priority = op.spec.priority + client.config.priority_offset;
  run->arrival = arrivals_++;
  run->cost = result.kernel->cost;
  if (const auto* stream = ops_.stream(op.spec.stream); stream != nullptr) run->sms = stream->sms;
  run->blocks_pending = result.kernel->blocks;
  client.sms->add(std::move(run));
}

Engine::CopyQueue* Engine::queue_of(OpKind kind) {
  if (kind == OpKind::kCopyToDevice) return &to_device_;
  return kind == OpKind::kCopyToHost ? &to_host_ : nullptr;
}

void Engine::start_copy(CopyQueue& queue, uint64_t now_ns) {
  while (queue.running == 0 && !queue.waiting.empty()) {
    Op* op = ops_.find(queue.waiting.front());
    queue.waiting.pop_front();
    if (op == nullptr) continue;
    op->state = OpState::kRunning;
    op->start_ns = now_ns;
    if (host_.op_started(*op, now_ns).skip) {
      end(*op, now_ns);
      continue;
    }
    queue.running = op->id;
    add_timer(now_ns + copy_ns(*op), op->id);
  }
}

uint64_t Engine::copy_ns(const Op& op) const {
  const double rate = device_.spec.pcie_bytes_per_ns * (op.spec.pinned ? 1.0 : kPageableRate);
  return kCopySetupNs + static_cast<uint64_t>(static_cast<double>(op.spec.bytes) / rate);
}

void Engine::start_flow(Op& op, uint64_t now_ns) {
  op.state = OpState::kRunning;
  if (host_.op_started(op, now_ns).skip) return end(op, now_ns);
  // A copy reads and writes.
  const uint64_t traffic = op.spec.kind == OpKind::kMemset ? op.spec.bytes : 2 * op.spec.bytes;
  flows_.add(op.id, traffic, now_ns);
}

void Engine::start_host_copy(Op& op, uint64_t now_ns) {
  op.state = OpState::kRunning;
  if (host_.op_started(op, now_ns).skip) return end(op, now_ns);
  const double duration = static_cast<double>(op.spec.bytes) / kHostToHostBytesPerNs;
  add_timer(now_ns + kCopySetupNs + static_cast<uint64_t>(duration), op.id);
}

void Engine::start_instant(Op& op, uint64_t now_ns) {
  op.state = OpState::kRunning;
  const bool skip = host_.op_started(op, now_ns).skip;
  if (skip || op.spec.kind == OpKind::kInstant) end(op, now_ns);
}

void Engine::end(Op& op, uint64_t end_ns) {
  host_.op_ended(op, op.start_ns, end_ns);
  --clients_[op.client].pending;
  release_dependents(op, end_ns);
  ops_.erase(op);
}

void Engine::release_dependents(Op& op, uint64_t now_ns) {
  for (const OpId id : op.dependents) {
    Op* next = ops_.find(id);
    if (next != nullptr && --next->unresolved == 0) make_due(*next, now_ns);
  }
}

size_t Engine::pending_ops(uint32_t client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : found->second.pending;
}

double Engine::sm_share(uint32_t client) const {
  const auto found = clients_.find(client);
  const SmArray* sms = slicer_.active();
  if (found == clients_.end() || sms == nullptr || found->second.sms != sms) return 0;
  return sms->thread_share(client);
}

}  // namespace gacer::simdevice
