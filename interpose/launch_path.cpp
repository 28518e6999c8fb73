// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_path.h"

#include <algorithm>

#include "interpose/completion.h"
#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/stream_marks.h"
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
    attachment_.streams.free_ended_threads();
    collect_completions(attachment_);
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

void count_if_launch(const LaunchRequest& request, bool capturing) {
  if (request.kind == LaunchKind::kKernel || request.kind == LaunchKind::kGraph)
    count_unregulated(request.function, request.stream, capturing);
}

// Launches that were not counted must not show as in flight: start from what the newest mark will
// report.
[[gnu::noinline]] void start_counting(Attachment& attachment, int index, uint32_t epoch) {
  StreamState& state = attachment.streams.state(index);
  const SpinGuard guard(state.mark_lock);
  if (state.counting_epoch.load(kRelaxed) == epoch) return;
  abi::StreamSlot& slot = attachment.streams.slot(index);
  slot.submitted_cost_ns.store(slot.marked_cost_ns.load(kRelaxed), kRelaxed);
  state.counting_epoch.store(epoch, kRelaxed);
}

inline void align_counting(Attachment& attachment, uint32_t slot) {
  const auto index = static_cast<int>(slot);
  const uint32_t epoch = attachment.counting_epoch.load(kRelaxed);
  if (attachment.streams.state(index).counting_epoch.load(kRelaxed) != epoch) [[unlikely]]
    start_counting(attachment, index, epoch);
}

// Launches between two looks at the daemon are chosen by Session for both ways of counting.
[[gnu::noinline]] void check_daemon_alone(Attachment& attachment, uint64_t launches) {
  const uint64_t shared_count = attachment.segment.progress.launches.load(kRelaxed);
  shim().session.check_daemon(attachment, shared_count);
  const uint64_t interval = gacer_fast_path.next_check.load(kRelaxed) - shared_count;
  attachment.next_alone_check.store(launches + interval, kRelaxed);
}

inline void count_among_others(Attachment& attachment) {
  const uint64_t launches = attachment.segment.progress.launches.fetch_add(1, kRelaxed);
  if (launches >= gacer_fast_path.next_check.load(kRelaxed)) [[unlikely]]
    shim().session.check_daemon(attachment, launches);
}

inline void count_launch(Attachment& attachment) {
  if (!attachment.sole_launcher.enter()) return count_among_others(attachment);
  std::atomic<uint64_t>& word = attachment.segment.progress.alone_launches;
  const uint64_t launches = word.load(kRelaxed);
  word.store(launches + 1, kRelaxed);
  attachment.sole_launcher.leave();
  if (launches >= attachment.next_alone_check.load(kRelaxed)) [[unlikely]]
    check_daemon_alone(attachment, launches);
}

inline uint64_t add(std::atomic<uint64_t>& sum, uint64_t value, bool alone) {
  if (!alone) return sum.fetch_add(value, std::memory_order_seq_cst) + value;  // see mark_busy()
  const uint64_t result = sum.load(kRelaxed) + value;
  sum.store(result, kRelaxed);
  return result;
}

// From now on lone_launch() answers, until the daemon changes its words.
[[gnu::noinline]] void pass_lone(Attachment& attachment, uint64_t gate_seq) {
  count_among_others(attachment);
  attachment.counting_epoch.fetch_add(1, kRelaxed);
  gacer_fast_path.lone_seq.store(gate_seq, kRelaxed);
}

int slot_of(Attachment& attachment, uint64_t key, StreamRef stream) {
  const int known = attachment.streams.find(key);
  if (known != StreamTable::kNone && known != StreamTable::kSharedSlot) return known;
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return attachment.streams.find_or_add(key, stream, context);
}

LaunchShape shape_of(const LaunchKey& key) {
  LaunchShape shape{};
  shape.grid[0] = static_cast<uint32_t>(key.grid_xy);
  shape.grid[1] = static_cast<uint32_t>(key.grid_xy >> 32);
  shape.grid[2] = static_cast<uint32_t>(key.grid_z_block_x);
  shape.block[0] = static_cast<uint32_t>(key.grid_z_block_x >> 32);
  shape.block[1] = static_cast<uint32_t>(key.block_yz);
  shape.block[2] = static_cast<uint32_t>(key.block_yz >> 32);
  shape.dynamic_smem_bytes = key.smem_bytes;
  return shape;
}

void look_up_kernel(const LaunchRequest& request, KnownLaunch& known) {
  KernelRegistry& kernels = shim().kernels;
  const uint32_t generation = kernels.generation();
  LaunchShape shape = shape_of(request.key);
  const KernelHandle kernel = kernels.find_kernel(request.key.handle);
  const uint64_t threads = std::min<uint64_t>(shape.threads_per_block(), UINT16_MAX);
  known.blocks = shape.blocks();
  known.smem_bytes = shape.dynamic_smem_bytes;
  KernelResources resources;
  if (kernel.facts == nullptr) {
    known.guess_ns = guess_cost_ns(shape, shim().session.device());
  } else {
    shape.kernel = kernel.facts;
    resources = KernelRegistry::resources_of(kernel, request.key.handle);
    known.kernel_id = kernel.facts->id;
    known.collective = kernel.facts->collective;
    known.cost_slot = kernels.find_or_add_shape(shape, shim().session.device());
    known.guess_ns = shape.guess_ns;
    known.smem_bytes += resources.static_smem_bytes;
  }
  known.shape_word =
      shm::LaunchWords::shape_word(static_cast<uint16_t>(threads), resources.regs_per_thread,
                                   LaunchKind::kKernel, static_cast<uint8_t>(known.stream_slot));
  // A kernel that is not known yet may be so the next time.
  if (kernel.facts != nullptr && known.stream_slot != StreamTable::kSharedSlot)
    launch_cache().remember(request.key, generation, known);
}

void look_up_graph(const Attachment& attachment, const LaunchRequest& request, KnownLaunch& known) {
  const GraphCost graph = shim().graphs.find(request.key.handle, &attachment.segment.costs);
  known.kernel_id = graph.id;
  known.cost_slot = graph.cost_slot;
  known.guess_ns = graph.guess_ns;
}

// False: a default stream without a context, which the driver will refuse.
[[gnu::noinline]] bool look_up(Attachment& attachment, const LaunchRequest& request,
                               KnownLaunch& known) {
  const int slot = slot_of(attachment, request.key.stream, request.stream);
  if (slot == StreamTable::kNone) return false;
  known = {};
  known.cost_slot = abi::kNoCostSlot;
  known.stream_slot = static_cast<uint32_t>(slot);
  known.blocks = request.bytes;
  known.shape_word = shm::LaunchWords::shape_word(0, 0, request.kind, static_cast<uint8_t>(slot));
  switch (request.kind) {
    case LaunchKind::kKernel:
      look_up_kernel(request, known);
      break;
    case LaunchKind::kGraph:
      look_up_graph(attachment, request, known);
      break;
    case LaunchKind::kMemset:
      known.guess_ns =
          static_cast<uint32_t>(std::min<uint64_t>(request.bytes / kMemsetBytesPerNs, kMostCostNs));
      break;
    case LaunchKind::kCopy:  // copy engines: no SM-time
      break;
  }
  return true;
}

inline bool identify(Attachment& attachment, LaunchRequest& request, KnownLaunch& known) {
  // In a register what can be: a whole StreamRef would be loaded wider than it has been stored.
  const CUstream handle = request.stream.handle;
  request.key.stream = is_default_stream(handle) ? default_stream_key(request.stream)
                                                 : reinterpret_cast<uint64_t>(handle);
  if (request.kind == LaunchKind::kKernel &&
      launch_cache().find(request.key, shim().kernels.generation(), known) &&
      attachment.streams.is_owner(known.stream_slot, request.key.stream)) [[likely]]
    return true;
  return look_up(attachment, request, known);
}

uint32_t charged_cost(const Attachment& attachment, const KnownLaunch& known) {
  if (known.cost_slot >= abi::kCostSlots) return known.guess_ns;
  const uint32_t told_ns = attachment.segment.costs.cost_ns[known.cost_slot].load(kRelaxed);
  return told_ns != 0 ? std::min(told_ns, kMostCostNs) : known.guess_ns;
}

bool may_be_held(const LaunchRequest& request, const Admission& admission) {
  if (request.never_held || admission.known.collective) return false;
  if (admission.attachment->daemon_silent.load(kRelaxed)) return false;
  return request.kind == LaunchKind::kKernel || request.kind == LaunchKind::kGraph;
}

[[gnu::noinline]] void wait_at(Gate& gate, Admission& admission) {
  LiveEnvironment environment(*admission.attachment);
  gate.wait(admission.cost_ns, admission.passage, environment);
}

inline void hold(const LaunchRequest& request, Admission& admission) {
  if (!may_be_held(request, admission)) return;
  Attachment& attachment = *admission.attachment;
  Gate gate(attachment.segment, attachment.streams.busy_word(), attachment.reserved_ns,
            attachment.sole_launcher.is_mine());
  if (!gate.try_pass(admission.cost_ns, admission.passage.reserved)) [[unlikely]]
    wait_at(gate, admission);
}

inline bool record(const Admission& admission, uint64_t stream_cost_ns, bool alone) {
  const KnownLaunch& known = admission.known;
  const Passage& passage = admission.passage;
  const auto wait_ns = static_cast<uint32_t>(std::min<uint64_t>(passage.wait_ns, UINT32_MAX));
  const shm::LaunchWords words{admission.submit_ns,
                               known.kernel_id,
                               stream_cost_ns,
                               known.blocks,
                               shm::LaunchWords::pair(known.cost_slot, admission.cost_ns),
                               shm::LaunchWords::pair(wait_ns, known.smem_bytes),
                               known.shape_word | shm::LaunchWords::reason_bits(passage.reason)};
  return shm::push_launch(admission.attachment->segment, words, alone);
}

// Counts towards the next mark; threads that share a stream may lose a count, which makes a mark
// come later. On the shared slot each launch needs one of its own.
inline bool mark_is_due(const Admission& admission) {
  if (admission.mark_every == 0 || admission.cost_ns == 0) return false;
  const uint32_t slot = admission.known.stream_slot;
  StreamState& state = admission.attachment->streams.state(static_cast<int>(slot));
  const uint32_t unmarked = state.unmarked_launches.load(kRelaxed) + 1;
  const bool due = unmarked >= admission.mark_every || slot == StreamTable::kSharedSlot;
  state.unmarked_launches.store(due ? 0 : unmarked, kRelaxed);
  return due;
}

// Returns the slot's submitted cost with this launch.
inline uint64_t charge(const Admission& admission, bool alone) {
  abi::StreamSlot& slot =
      admission.attachment->streams.slot(static_cast<int>(admission.known.stream_slot));
  // Threads that share a stream may lose one here; exact counts are the records' business.
  slot.launches.store(slot.launches.load(kRelaxed) + 1, kRelaxed);
  if (admission.mark_every == 0) return slot.submitted_cost_ns.load(kRelaxed);
  const uint64_t submitted_ns = add(slot.submitted_cost_ns, admission.cost_ns, alone);
  Gate::mark_busy(admission.attachment->streams.busy_word(), admission.known.stream_slot);
  return submitted_ns;
}

[[gnu::noinline]] void mark_launch(const LaunchRequest& request, const Admission& admission) {
  mark_stream(*admission.attachment, static_cast<int>(admission.known.stream_slot), request.stream);
}

inline void charge_and_record(const Admission& admission) {
  SoleLauncher& sole = admission.attachment->sole_launcher;
  const bool alone = sole.enter();
  const uint64_t stream_cost_ns = charge(admission, alone);
  if (admission.record && !record(admission, stream_cost_ns, alone)) [[unlikely]]
    add(admission.attachment->segment.progress.dropped_records, 1, alone);
  if (alone) sole.leave();
}

}  // namespace

void admit(const HookScope&, LaunchRequest& request, Admission& admission) {
  Attachment* attachment = attached();
  if (attachment == nullptr) [[unlikely]]
    attachment = shim().session.await_attach();
  if (attachment == nullptr) return count_if_launch(request, false);
  abi::Segment& segment = attachment->segment;
  const Words words(segment.gate);
  if (words.nothing_asked()) [[unlikely]]
    return pass_lone(*attachment, words.seq);
  count_launch(*attachment);
  if (words.mode == GateMode::kDetached) [[unlikely]]
    return shim().session.detach(*attachment);
  if (words.record) shm::expect_launch(segment);
  if (shim().captures.any() && shim().captures.is_capturing(request.stream)) [[unlikely]]
    return count_if_launch(request, true);
  if (!identify(*attachment, request, admission.known)) [[unlikely]]
    return count_if_launch(request, false);
  admission.attachment = attachment;
  admission.mark_every = words.mark_every;
  admission.record = words.record;
  admission.passage = {};
  admission.cost_ns = charged_cost(*attachment, admission.known);
  if (words.mark_every != 0) align_counting(*attachment, admission.known.stream_slot);
  if (words.mode != GateMode::kUngated) hold(request, admission);
  admission.submit_ns = words.record ? shim().session.clock().now_ns() : 0;
}

void account(const HookScope&, const LaunchRequest& request, const Admission& admission,
             CUresult result) {
  Attachment& attachment = *admission.attachment;
  if (result == CUDA_SUCCESS) [[likely]] {
    charge_and_record(admission);
    if (mark_is_due(admission)) mark_launch(request, admission);
  }
  Gate::give_back(attachment.reserved_ns, admission.passage.reserved, admission.cost_ns);
}

}  // namespace gacer::interpose
