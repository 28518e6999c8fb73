// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/tenant_process.h"

#include <algorithm>

#include "runtime/shm/futex.h"
#include "runtime/shm/segment_format.h"

namespace gacer::daemon {
namespace {

using regulator::GateDecision;
using regulator::LaunchEvent;

constexpr auto kRelaxed = std::memory_order_relaxed;

static_assert(static_cast<uint32_t>(regulator::GateMode::kUngated) ==
              static_cast<uint32_t>(abi::GateMode::kUngated));
static_assert(static_cast<uint32_t>(regulator::GateMode::kWindow) ==
              static_cast<uint32_t>(abi::GateMode::kWindow));
static_assert(static_cast<uint32_t>(regulator::GateMode::kClosed) ==
              static_cast<uint32_t>(abi::GateMode::kClosed));
static_assert(static_cast<uint32_t>(regulator::HoldReason::kWindowFull) ==
              static_cast<uint32_t>(abi::Reason::kWindowFull));
static_assert(static_cast<uint32_t>(regulator::HoldReason::kLatencyActive) ==
              static_cast<uint32_t>(abi::Reason::kLatencyActive));
static_assert(static_cast<uint32_t>(regulator::HoldReason::kNotMyQuantum) ==
              static_cast<uint32_t>(abi::Reason::kNotMyQuantum));
static_assert(regulator::kMaxStreamSlots == abi::kStreamSlots);
static_assert(regulator::kMaxCostSlots == abi::kCostSlots);

bool is_valid(const shm::LaunchEntry& entry) {
  return entry.stream_slot < abi::kStreamSlots && entry.reason < abi::kReasonCount &&
         entry.kind >= static_cast<uint8_t>(abi::LaunchKind::kKernel) &&
         entry.kind <= static_cast<uint8_t>(abi::LaunchKind::kGraph) &&
         (entry.cost_slot < abi::kCostSlots || entry.cost_slot == abi::kNoCostSlot);
}

LaunchEvent event_of(const shm::LaunchEntry& entry) {
  LaunchEvent event;
  event.submit_ns = entry.submit_ns;
  event.kernel_id = entry.kernel_id;
  event.stream_cost_ns = entry.stream_cost_ns;
  event.blocks = entry.blocks_or_bytes;
  event.cost_slot = entry.cost_slot;
  event.cost_ns = entry.cost_ns;
  event.wait_ns = entry.wait_ns;
  event.smem_bytes = entry.smem_bytes;
  event.block_threads = entry.block_threads;
  event.regs_per_thread = entry.regs_per_thread;
  event.kind = entry.kind;
  event.stream_slot = entry.stream_slot;
  event.reason = entry.reason;
  return event;
}

int32_t stream_priority_of(int32_t rank) {
  if (rank > 0) return abi::kPriorityHighest;
  if (rank < 0) return abi::kPriorityLowest;
  return abi::kPriorityKeep;
}

uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

void ProgressCounters::add(const ProgressCounters& other) {
  launches += other.launches;
  waits += other.waits;
  wait_ns += other.wait_ns;
  deadline_releases += other.deadline_releases;
  dropped_records += other.dropped_records;
  unregulated += other.unregulated;
  for (size_t i = 0; i < wait_ns_by_reason.size(); ++i)
    wait_ns_by_reason[i] += other.wait_ns_by_reason[i];
}

Result<std::unique_ptr<TenantProcess>> TenantProcess::create(ProcessIdentity identity) {
  auto memory = shm::MemorySegment::create("gacer-tenant", sizeof(abi::Segment));
  if (!memory) return memory.error();
  return std::unique_ptr<TenantProcess>(
      new TenantProcess(std::move(identity), std::move(memory).value()));
}

TenantProcess::TenantProcess(ProcessIdentity identity, shm::MemorySegment memory)
    : identity_(std::move(identity)), memory_(std::move(memory)), ring_(segment()) {
  shm::format_segment(segment(), identity_.tenant_id, identity_.process_id);
}

bool TenantProcess::drain(uint64_t now_ns, uint32_t limit, std::vector<LaunchEvent>& launches) {
  shm::LaunchEntry entry;
  for (uint32_t i = 0; i < limit; ++i) {
    if (!ring_.pop(entry, now_ns)) return false;
    if (is_valid(entry))
      launches.push_back(event_of(entry));
    else
      ++forged_values_;
  }
  return true;
}

const regulator::ProgressEvent& TenantProcess::collect() {
  collect_streams();
  copy_counters();
  keep_memory_limit();
  progress_.launches = counters_.launches;
  progress_.waits = counters_.waits;
  progress_.wait_ns = counters_.wait_ns;
  progress_.deadline_releases = counters_.deadline_releases;
  progress_.waiting_threads = segment().progress.waiting_threads.load(kRelaxed);
  return progress_;
}

// Nobody but us writes it: another value is the tenant's own work, and said to be forged. What it
// may allocate does not depend on it, the ledger does not read it.
void TenantProcess::keep_memory_limit() {
  if (segment().gate.memory_limit_bytes.load(kRelaxed) == memory_limit_bytes_) return;
  ++forged_values_;
  segment().gate.memory_limit_bytes.store(memory_limit_bytes_, kRelaxed);
}

uint64_t TenantProcess::grown(uint64_t last, const std::atomic<uint64_t>& word) {
  const uint64_t value = word.load(kRelaxed);
  if (value >= last) return value;
  ++forged_values_;
  return last;
}

void TenantProcess::copy_counters() {
  const abi::ProgressWords& words = segment().progress;
  ProgressCounters& last = counters_;
  const std::atomic<uint64_t> launches{words.launches.load(kRelaxed) +
                                       words.alone_launches.load(kRelaxed)};
  last.launches = grown(last.launches, launches);
  last.waits = grown(last.waits, words.waits);
  last.wait_ns = grown(last.wait_ns, words.wait_ns);
  last.deadline_releases = grown(last.deadline_releases, words.deadline_releases);
  last.dropped_records = grown(last.dropped_records, words.dropped_records);
  last.unregulated = grown(last.unregulated, words.unregulated);
  for (size_t i = 0; i < last.wait_ns_by_reason.size(); ++i)
    last.wait_ns_by_reason[i] = grown(last.wait_ns_by_reason[i], words.wait_ns_by_reason[i]);
}

void TenantProcess::collect_streams() {
  progress_.streams.clear();
  in_flight_ns_ = 0;
  completed_ns_ = 0;
  for (uint32_t slot = 0; slot < abi::kStreamSlots; ++slot) {
    const abi::StreamSlot& words = segment().streams[slot];
    if (words.in_use.load(kRelaxed) == 0) continue;
    // Completed first: an honest tenant submits before it completes, so the pair is never upside
    // down. Acquire keeps the order; it pairs with nothing, the GPU is the writer.
    uint64_t completed = words.completed_cost_ns.load(std::memory_order_acquire);
    const uint64_t submitted = words.submitted_cost_ns.load(kRelaxed);
    if (completed > submitted) {
      ++forged_values_;
      completed = submitted;
    }
    in_flight_ns_ = saturating_add(in_flight_ns_, submitted - completed);
    completed_ns_ += completed;  // may wrap: only compared for equality
    progress_.streams.push_back({slot, submitted, completed});
  }
}

void TenantProcess::apply(const GateDecision& gate, uint64_t generation) {
  abi::GateWords& words = segment().gate;
  words.mode.store(static_cast<uint32_t>(gate.mode), kRelaxed);
  words.flags.store(gate.record ? abi::kFlagRecord : 0u, kRelaxed);
  words.mark_every.store(gate.mark_every, kRelaxed);
  words.window_ns.store(gate.window_ns, kRelaxed);
  words.max_wait_ns.store(gate.max_wait_ns, kRelaxed);
  words.reason.store(static_cast<uint32_t>(gate.reason), kRelaxed);
  words.stream_priority.store(stream_priority_of(gate.stream_priority_rank), kRelaxed);
  words.generation.store(generation, kRelaxed);
  publish();
}

void TenantProcess::publish() {
  abi::Segment& shared = segment();
  // Release: pairs with the shim's acquire load of gate_seq. Sequentially consistent with the load
  // below and with the shim's announce-then-wait, so that either we see the waiter or it sees the
  // new sequence.
  shared.gate.gate_seq.fetch_add(1, std::memory_order_seq_cst);
  if (shared.progress.waiting_threads.load(std::memory_order_seq_cst) != 0)
    shm::futex_wake_all(shared.gate.gate_seq);
}

void TenantProcess::nudge_if_progressed() {
  if (completed_ns_ == nudged_completed_ns_) return;
  nudged_completed_ns_ = completed_ns_;
  if (progress_.waiting_threads != 0) publish();
}

void TenantProcess::set_cost(uint32_t cost_slot, uint32_t cost_ns) {
  if (cost_slot >= abi::kCostSlots) return;
  segment().costs.cost_ns[cost_slot].store(cost_ns, kRelaxed);
}

void TenantProcess::set_generation(uint64_t generation) {
  segment().gate.generation.store(generation, kRelaxed);
}

void TenantProcess::set_memory_limit(uint64_t bytes) {
  memory_limit_bytes_ = bytes;
  segment().gate.memory_limit_bytes.store(bytes, kRelaxed);
}

void TenantProcess::detach() {
  segment().gate.mode.store(static_cast<uint32_t>(abi::GateMode::kDetached), kRelaxed);
  publish();
}

}  // namespace gacer::daemon
