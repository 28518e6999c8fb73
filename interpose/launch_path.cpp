// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_path.h"

#include <algorithm>

#include "interpose/completion.h"
#include "interpose/driver.h"
#include "runtime/base/clock.h"
#include "runtime/shm/futex.h"
#include "runtime/shm/launch_ring.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using abi::LaunchKind;
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint32_t kMostCostNs =
    2'000'000'000;  // a wilder number from the daemon would close the window for good

// The memory a memset writes, at a rate of 1 byte per ps of whole-GPU time.
constexpr uint64_t kMemsetBytesPerNs = 1000;

class LiveEnvironment final : public GateEnvironment {
 public:
  explicit LiveEnvironment(Attachment& attachment) : attachment_(attachment) {}
  uint64_t now_ns() override { return monotonic_now_ns(); }
  bool daemon_gone() override { return shim().session.daemon_gone(attachment_); }
  void poll_completions() override {
    if (!shim().captures.any()) poll_events(attachment_);
  }
  void sleep(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t until_ns) override {
    shm::futex_wait_until(word, expected, until_ns);
  }

 private:
  Attachment& attachment_;
};

// The words of one decision, or a mix of two: each is valid alone (segment_layout.h).
struct Words {
  uint64_t seq;
  GateMode mode;
  bool record;
  uint32_t mark_every;

  explicit Words(const abi::GateWords& gate)
      : seq(gate.gate_seq.load(std::memory_order_acquire)),  // pairs with the daemon's release add
        mode(static_cast<GateMode>(gate.mode.load(kRelaxed))),
        record((gate.flags.load(kRelaxed) & abi::kFlagRecord) != 0),
        mark_every(gate.mark_every.load(kRelaxed)) {}
  bool nothing_asked() const { return mode == GateMode::kUngated && !record && mark_every == 0; }
};

void count_unregulated(Attachment& attachment) {
  attachment.segment.progress.unregulated.fetch_add(1, kRelaxed);
}

// The daemon wrote the slot that account() will fill, so its cache line is elsewhere: fetch it
// meanwhile.
void expect_record(abi::Segment& segment) {
  const uint64_t ticket = segment.ring_control.tail.load(kRelaxed);
  __builtin_prefetch(&segment.ring[ticket % abi::kRingSlots], 1);
}

// From now on lone_launch() answers, until the daemon changes its words.
void enter_lone_path(Attachment& attachment, const Words& words) {
  attachment.counting_epoch.fetch_add(1, kRelaxed);
  gacer_fast_path.lone_seq.store(words.seq, kRelaxed);
}

// Launches that were not counted must not show as in flight: start from what the newest mark will
// report.
void align_counting(Attachment& attachment, int index) {
  StreamState& state = attachment.streams.state(index);
  const uint32_t epoch = attachment.counting_epoch.load(kRelaxed);
  if (state.counting_epoch.load(kRelaxed) == epoch) return;
  const SpinGuard guard(state.mark_lock);
  if (state.counting_epoch.load(kRelaxed) == epoch) return;
  abi::StreamSlot& slot = attachment.streams.slot(index);
  slot.submitted_cost_ns.store(slot.marked_cost_ns.load(kRelaxed), kRelaxed);
  state.counting_epoch.store(epoch, kRelaxed);
}

// True as long as one thread makes all launches: it needs no locked instruction. The second
// thread's first launch may pass beside the first one's and undo one of its additions: a count is
// off by one, a sum of costs agrees again at the next mark.
bool launches_alone(Attachment& attachment) {
  const uint64_t me = this_thread_number();
  const uint64_t known = attachment.launching_thread.load(kRelaxed);
  if (known == me) return true;
  attachment.launching_thread.store(known == 0 ? me : Attachment::kSeveralThreads, kRelaxed);
  return known == 0;
}

uint64_t add(std::atomic<uint64_t>& sum, uint64_t value, bool alone) {
  if (!alone) return sum.fetch_add(value, kRelaxed) + value;
  const uint64_t result = sum.load(kRelaxed) + value;
  sum.store(result, kRelaxed);
  return result;
}

int slot_of(Attachment& attachment, StreamRef stream) {
  const uint64_t key = stream_key(stream);
  const int known = attachment.streams.find(key);
  if (known != StreamTable::kNone) return known;
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return attachment.streams.find_or_add(key, stream, context);
}

uint32_t charged_cost(const Attachment& attachment, uint32_t cost_slot, uint32_t guess_ns) {
  const uint32_t told_ns =
      cost_slot < abi::kCostSlots ? attachment.segment.costs.cost_ns[cost_slot].load(kRelaxed) : 0;
  return told_ns != 0 ? std::min(told_ns, kMostCostNs) : guess_ns;
}

void price_kernel(LaunchRequest& request, Admission& admission) {
  LaunchShape& shape = request.shape;
  const KernelHandle kernel = shim().kernels.find_kernel(request.handle);
  shape.kernel = kernel.facts;
  if (kernel.facts == nullptr) {
    admission.cost_ns = guess_cost_ns(shape, shim().session.device());
    return;
  }
  admission.kernel = kernel.facts;
  admission.kernel_id = kernel.facts->id;
  if (admission.record) admission.resources = KernelRegistry::resources_of(kernel, request.handle);
  admission.cost_slot = shim().kernels.find_or_add_shape(shape, shim().session.device());
  admission.cost_ns = charged_cost(*admission.attachment, admission.cost_slot, shape.guess_ns);
}

void price_graph(const LaunchRequest& request, Admission& admission) {
  const GraphCost graph = shim().graphs.find(request.handle);
  admission.kernel_id = graph.id;
  admission.cost_slot = graph.cost_slot;
  admission.cost_ns = charged_cost(*admission.attachment, graph.cost_slot, graph.guess_ns);
}

void price(LaunchRequest& request, Admission& admission) {
  switch (request.kind) {
    case LaunchKind::kKernel:
      return price_kernel(request, admission);
    case LaunchKind::kGraph:
      return price_graph(request, admission);
    case LaunchKind::kMemset:
      admission.cost_ns =
          static_cast<uint32_t>(std::min<uint64_t>(request.bytes / kMemsetBytesPerNs, kMostCostNs));
      return;
    case LaunchKind::kCopy:
      return;  // copy engines: no SM-time
  }
}

bool may_be_held(const LaunchRequest& request, const Admission& admission) {
  if (request.never_held || admission.attachment->daemon_silent.load(kRelaxed)) return false;
  if (admission.kernel != nullptr && admission.kernel->collective) return false;
  return request.kind == LaunchKind::kKernel || request.kind == LaunchKind::kGraph;
}

void hold(const LaunchRequest& request, Admission& admission) {
  if (!may_be_held(request, admission)) return;
  Attachment& attachment = *admission.attachment;
  Gate gate(attachment.segment, attachment.streams.used_word(), attachment.reserved_ns,
            admission.alone);
  LiveEnvironment environment(attachment);
  admission.passage = gate.pass(admission.cost_ns, environment);
}

shm::LaunchEntry entry_for(const LaunchRequest& request, const Admission& admission,
                           uint64_t stream_cost_ns) {
  shm::LaunchEntry entry;
  entry.submit_ns = admission.submit_ns;
  entry.kernel_id = admission.kernel_id;
  entry.stream_cost_ns = stream_cost_ns;
  const bool kernel = request.kind == LaunchKind::kKernel;
  entry.blocks_or_bytes = kernel ? request.shape.blocks() : request.bytes;
  entry.cost_slot = admission.cost_slot;
  entry.cost_ns = admission.cost_ns;
  entry.wait_ns = static_cast<uint32_t>(std::min<uint64_t>(admission.passage.wait_ns, UINT32_MAX));
  entry.smem_bytes = request.shape.dynamic_smem_bytes + admission.resources.static_smem_bytes;
  entry.regs_per_thread = admission.resources.regs_per_thread;
  entry.block_threads =
      static_cast<uint16_t>(std::min<uint64_t>(request.shape.threads_per_block(), UINT16_MAX));
  entry.kind = static_cast<uint8_t>(request.kind);
  entry.stream_slot = static_cast<uint8_t>(admission.slot);
  entry.reason = static_cast<uint8_t>(admission.passage.reason);
  return entry;
}

// Counts towards the next mark; threads that share a stream may lose a count, which makes a mark
// come later.
bool mark_is_due(const Admission& admission) {
  StreamState& state = admission.attachment->streams.state(admission.slot);
  const uint32_t unmarked = state.unmarked_launches.load(kRelaxed) + 1;
  const bool due = unmarked >= admission.mark_every && !shim().captures.any();
  state.unmarked_launches.store(due ? 0 : unmarked, kRelaxed);
  return due;
}

// Returns the slot's submitted cost with this launch.
uint64_t charge(const Admission& admission) {
  abi::StreamSlot& slot = admission.attachment->streams.slot(admission.slot);
  // Threads that share a stream may lose one here; exact counts are the records' business.
  slot.launches.store(slot.launches.load(kRelaxed) + 1, kRelaxed);
  if (admission.mark_every == 0) return slot.submitted_cost_ns.load(kRelaxed);
  const uint64_t submitted_ns = add(slot.submitted_cost_ns, admission.cost_ns, admission.alone);
  if (admission.cost_ns != 0 && mark_is_due(admission))
    mark_stream(*admission.attachment, admission.slot);
  return submitted_ns;
}

}  // namespace

void admit(const HookScope&, LaunchRequest& request, Admission& admission) {
  Attachment* attachment = attached();
  if (attachment == nullptr) return;
  abi::Segment& segment = attachment->segment;
  const bool alone = launches_alone(*attachment);
  const uint64_t launches = add(segment.progress.launches, 1, alone) - 1;
  if (launches >= gacer_fast_path.next_check.load(kRelaxed))
    shim().session.check_daemon(*attachment, launches);
  const Words words(segment.gate);
  if (words.mode == GateMode::kDetached) return shim().session.detach(*attachment);
  if (words.nothing_asked()) return enter_lone_path(*attachment, words);
  const bool capturing = shim().captures.any();
  if (capturing && shim().captures.is_capturing(request.stream))
    return count_unregulated(*attachment);
  const int slot = slot_of(*attachment, request.stream);
  if (slot == StreamTable::kNone) return count_unregulated(*attachment);
  if (words.record) expect_record(segment);
  admission.attachment = attachment;
  admission.slot = slot;
  admission.cost_ns = 0;
  admission.cost_slot = abi::kNoCostSlot;
  admission.mark_every = words.mark_every;
  admission.record = words.record;
  admission.alone = alone;
  admission.kernel = nullptr;
  admission.kernel_id = 0;
  admission.resources = {};
  admission.passage = {};
  admission.submit_ns = 0;
  if (words.mark_every != 0) align_counting(*attachment, admission.slot);
  price(request, admission);
  if (words.mode != GateMode::kUngated && !capturing) hold(request, admission);
  if (words.record) admission.submit_ns = shim().session.clock().now_ns();
}

void account(const HookScope&, const LaunchRequest& request, const Admission& admission,
             CUresult result) {
  Attachment& attachment = *admission.attachment;
  Gate gate(attachment.segment, attachment.streams.used_word(), attachment.reserved_ns);
  if (result == CUDA_SUCCESS) {
    const uint64_t stream_cost_ns = charge(admission);
    if (admission.record &&
        !shm::push_launch(attachment.segment, entry_for(request, admission, stream_cost_ns)))
      add(attachment.segment.progress.dropped_records, 1, admission.alone);
  }
  gate.give_back(admission.passage, admission.cost_ns);
}

}  // namespace gacer::interpose
