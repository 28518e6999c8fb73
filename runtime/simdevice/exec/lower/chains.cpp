// SPDX-License-Identifier: Apache-2.0
// How long one warp takes for a basic block when nothing else runs: the longest chain of operations
// that wait for each other.
//
// Inside a block the order is the compiler's: an instruction issues as soon as its operands are
// there, except that loads stay behind earlier stores that may be to the same place. Between blocks
// issue is in order: nothing of the next block issues before everything of this one has. A block
// that is its own successor is therefore unrolled a few times, with the results that are still on
// their way carried over; other blocks wait for all their results at the end.
#include <algorithm>
#include <unordered_map>

#include "runtime/simdevice/exec/lower/flow_graph.h"
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {
namespace {

// In clocks, only to find which chain is the longest: close to all architectures for arithmetic,
// and so much longer for memory that overlapped loads count once.
constexpr std::array<uint32_t, kLatencyCount> kNominal{0, 4, 8, 18, 24, 220, 220, 20};
constexpr uint32_t kUnrolled = 6, kWarmUp = 2;

// A moment in the block's execution, and the operations on the way to it.
struct Moment {
  uint32_t clocks = 0;
  std::array<uint32_t, kLatencyCount> counts{};

  void wait_for(const Moment& other) {
    if (other.clocks > clocks) *this = other;
  }
  Moment after(Latency latency) const {
    Moment next = *this;
    next.clocks += kNominal[static_cast<size_t>(latency)];
    ++next.counts[static_cast<size_t>(latency)];
    return next;
  }
};

bool is_device_memory(const Insn& in) {
  return in.space == MemSpace::kGlobal || in.space == MemSpace::kGeneric;
}
bool is_store(const Insn& in) {
  return in.memory != nullptr && in.list.defs == 0;
}
bool is_load(const Insn& in) {
  return in.memory != nullptr && in.list.defs != 0;
}

Latency latency_of(const Insn& in) {
  if (!is_load(in)) return in.latency;
  if (is_device_memory(in)) return Latency::kGlobal;
  return in.space == MemSpace::kParam ? Latency::kAlu : Latency::kShared;
}

class ChainFinder {
 public:
  explicit ChainFinder(FunctionCode& fn) : fn_(fn) {}

  void run() {
    for (uint32_t b = 0; b < fn_.blocks.size(); ++b) measure(b);
  }

 private:
  void measure(uint32_t index) {
    BasicBlock& bb = fn_.blocks[index];
    ready_.clear();
    now_ = stored_ = {};
    const auto successors = successors_of(fn_, index);
    const bool loops = std::find(successors.begin(), successors.end(), index) != successors.end();
    if (!loops) {
      execute(bb);
      for (const auto& [reg, moment] : ready_) now_.wait_for(moment);
      return record(bb, Moment{}, now_, 1);
    }
    Moment warm;
    for (uint32_t i = 0; i < kUnrolled; ++i) {
      if (i == kWarmUp) warm = now_;
      execute(bb);
    }
    record(bb, warm, now_, kUnrolled - kWarmUp);
  }

  // One execution; `now_` moves to where its last instruction has issued.
  void execute(BasicBlock& bb) {
    const Moment begin = now_;
    for (uint32_t i = bb.first; i < bb.first + bb.count; ++i) issue(fn_.insns[i], begin);
    Moment end = begin;
    for_each_ref(fn_, bb, [&](Ref ref, bool is_write) {
      if (!is_write) wait(end, ref);
    });
    now_.wait_for(end);
  }

  void issue(Insn& in, const Moment& begin) {
    Moment start = begin;
    for_each_ref(fn_, in, [&](Ref ref, bool is_write) {
      if (!is_write) wait(start, ref);
    });
    if (is_load(in) && is_device_memory(in) && !in.free_order) start.wait_for(stored_);
    if (is_store(in) && is_device_memory(in)) stored_.wait_for(start);
    now_.wait_for(start);
    const Moment done = start.after(latency_of(in));
    for_each_ref(fn_, in, [&](Ref ref, bool is_write) {
      if (is_write && ref.bank() == Bank::kFrame) ready_[ref.offset()] = done;
    });
  }

  void wait(Moment& moment, Ref ref) const {
    if (ref.bank() != Bank::kFrame) return;
    const auto found = ready_.find(ref.offset());
    if (found != ready_.end()) moment.wait_for(found->second);
  }

  static void record(BasicBlock& bb, const Moment& from, const Moment& to, uint32_t executions) {
    bb.clocks = std::max(bb.issued, (to.clocks - from.clocks) / executions);
    for (size_t i = 0; i < kLatencyCount; ++i) {
      // The way may have changed while warming up: what it lost counts for nothing.
      const uint32_t count = to.counts[i] > from.counts[i] ? to.counts[i] - from.counts[i] : 0;
      bb.chain[i] = count * kChainUnit / executions;
    }
  }

  FunctionCode& fn_;
  std::unordered_map<uint32_t, Moment> ready_;  // by virtual register
  Moment now_;
  Moment stored_;  // the last store
};

}  // namespace

void find_chains(FunctionCode& fn) {
  ChainFinder(fn).run();
}

}  // namespace gacer::simdevice
