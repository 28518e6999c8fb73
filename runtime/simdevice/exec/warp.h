// SPDX-License-Identifier: Apache-2.0
// One warp: its registers, its local memory, and where each of its lanes is.
//
// Lanes that run together are a Node. A divergent branch turns the node into a parent that waits at
// the branch's immediate post-dominator and gives it a child for each way; a child that reaches the
// rejoin point ends, and when all have the parent goes on with its lanes. Calls work the same way:
// the caller waits until the callee's node has returned. Because the nodes are a tree and not a
// stack, a node whose lanes wait for others (at a barrier or a warp-wide operation) is parked while
// its siblings run.
//
//        [0..31] waits at L2
//        /         \            .
//   [0..15] runs   [16..31] ready
//
// Not thread-safe: a block runs on one thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtime/simdevice/exec/block.h"
#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/warp_clock.h"

namespace gacer::simdevice {

struct SpecialInfo;

struct Frame {
  const FunctionCode* code = nullptr;
  uint32_t regs = 0;   // byte offset of the frame's registers in the warp's
  uint32_t local = 0;  // byte offset of the frame's memory in each thread's local memory
};

enum class NodeState : uint8_t { kReady, kWaitsForChildren, kAtBarrier, kParked };

struct Node {
  uint32_t mask = 0;
  uint32_t block = 0;          // next basic block
  uint32_t rejoin = kNoBlock;  // ends there
  int32_t parent = -1;
  uint32_t children = 0;
  NodeState state = NodeState::kReady;
  bool is_call = false;    // waits for a callee
  uint32_t site = 0;       // is_call: call site, for the return values
  uint32_t wait_mask = 0;  // kParked: lanes waited for
  uint32_t barrier = 0;    // kAtBarrier
  Frame frame;
};

enum class WarpStatus : uint8_t { kDone, kBlocked, kYielded, kSpinning, kFault };

// A register array aligned for the widest vectors.
struct alignas(64) LaneScratch {
  uint8_t bytes[32 * 8];
};

inline uint8_t* bytes_of(std::vector<LaneScratch>& slots) {
  return reinterpret_cast<uint8_t*>(slots.data());
}

class Warp {
 public:
  // Ready to run `kernel` from its entry. `first_thread` is the warp's first linear thread index.
  void start(BlockRun& block, const FunctionCode& kernel, uint32_t first_thread, uint32_t threads);
  // Until all lanes ended, all wait, or the time slice is over; kSpinning: over early, because the
  // lanes look again and again at memory that does not change.
  WarpStatus run();

  bool has_ready() const { return !ready_.empty() || current_index_ >= 0; }
  // Lets the nodes go on that wait at this block barrier.
  void release_barrier(uint32_t barrier);
  // For a block that cannot go on otherwise. True: there are ready nodes now.
  bool release_for_barriers();

  BlockRun& block() { return *block_; }
  const MemoryTable& memory() const { return *memory_; }
  template <typename T>
  T* lanes(Ref ref) {
    return reinterpret_cast<T*>(banks_[static_cast<uint32_t>(ref.bank())] + ref.offset());
  }
  uint32_t live() const { return live_; }
  uint32_t first_thread() const { return first_thread_; }
  const Frame& frame() const { return current_->frame; }
  uint64_t issued() const { return issued_; }
  // An access that may be part of a loop that waits (a strong load, an atomic, a sleep) found
  // `state`; the same state again and again ends the time slice.
  void polled(uint64_t state) {
    if (state != last_poll_) {
      last_poll_ = state;
      idle_polls_ = 0;
    } else if (++idle_polls_ >= kIdlePolls) {
      slice_ = 1;
    }
  }
  void slept() { polled(last_poll_); }
  // Memory was changed: this is no loop that only waits.
  void progressed() { idle_polls_ = 0; }
  // barrier.cluster.arrive of these lanes.
  void arrive_in_cluster(uint32_t mask);
  uint64_t global_loads() const { return global_loads_; }
  WarpClock& clock() { return clock_; }
  const WarpClock& clock() const { return clock_; }
  // Memory instructions so far, parameters aside.
  uint64_t accesses() const { return accesses_; }

  // Local memory of a lane, 4-byte words interleaved over the lanes; nullptr if out of bounds.
  uint8_t* local_word(uint64_t offset, uint32_t lane) {
    if (offset >= local_bytes_) return nullptr;
    return local_.data() + ((offset >> 2) * kLanes + lane) * 4 + (offset & 3);
  }
  uint32_t local_bytes() const { return local_bytes_; }

  // False, for handlers: `what` happened at this instruction in this lane.
  bool fault(FaultKind kind, const Insn& in, uint32_t lane, const std::string& what);
  // For warp-wide operations. True: all lanes of `members` that still live are in `mask`. Else the
  // handler must return false at once: the node is parked until the others come, and the
  // instruction run again.
  bool all_here(uint32_t members, uint32_t mask) {
    if ((members & live_ & ~mask) == 0) return true;
    awaited_ = members;
    return false;
  }

 private:
  static constexpr uint32_t kIdlePolls = 12;
  enum class Step : uint8_t { kGoOn, kNodeOver, kYield, kFault };

  bool pick();
  Step run_node();
  bool run_insns(const BasicBlock& bb, uint32_t mask);
  bool run_insn(const Insn& in, uint32_t mask);
  void run_lane(const Insn& in, uint32_t mask);
  void run_compare(const Insn& in, uint32_t mask);
  uint32_t holds(Ref predicate, bool negated) {
    return *lanes<uint32_t>(predicate) ^ (negated ? ~0u : 0u);
  }

  Step terminate(const BasicBlock& bb);
  Step branch(const BasicBlock& bb);
  Step switch_to(const BasicBlock& bb);
  Step call(const BasicBlock& bb);
  Step at_barrier(const BasicBlock& bb);
  Step exit_lanes(const BasicBlock& bb);
  Step return_lanes(const BasicBlock& bb);
  static bool can_enter(const CallSite& site, const FunctionCode& callee);
  bool enter(const CallSite& site, const FunctionCode& callee, uint32_t mask, int32_t caller);
  uint32_t first_free_frame() const;
  void copy_locals(uint32_t from, uint32_t to, uint32_t bytes, uint32_t mask);

  int32_t add_node(const Node& node);
  void split(uint32_t mask, uint32_t block);
  void fork(uint32_t rejoin);
  struct Way {
    uint32_t mask = 0, block = 0;
  };
  void diverge(uint32_t rejoin, std::initializer_list<Way> ways);
  void diverge(uint32_t rejoin, const Way* ways, size_t count);
  void write_barrier_result(const Node& node, const BasicBlock& bb);
  void end_current();
  Step park();
  bool release_warp_sync();
  bool release_parked();
  bool release_warp_barrier();
  void split_by_members();
  void unpark(int32_t index);
  void release_arrived();
  bool release_above(int32_t index, uint32_t wanted);
  uint32_t arrived_at(int32_t parent) const;
  void release_arrived(int32_t parent);
  bool run_group(const std::vector<int32_t>& group, uint32_t together);
  Step wait_for_cluster(const BasicBlock& bb);
  bool merge_with_sibling();
  void set_current(int32_t index);
  bool grow_for(const Frame& frame);
  void fill_specials();
  void fill_special(const SpecialInfo& info);

  BlockRun* block_ = nullptr;
  const MemoryTable* memory_ = &memory_table();
  std::array<uint8_t*, 3> banks_{};
  uint32_t live_ = 0;
  uint32_t first_thread_ = 0;
  int32_t current_index_ = -1;
  Node* current_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<int32_t> free_;
  std::vector<int32_t> ready_;   // runnable leaves, newest last
  std::vector<int32_t> parked_;  // leaves that wait for lanes of their own warp
  uint32_t slice_ = 0;           // basic blocks left before others run
  uint64_t last_poll_ = 0;
  uint32_t idle_polls_ = 0;
  std::array<uint32_t, kLanes> cluster_phase_{};  // in which the lane arrived last
  uint32_t slices_ = 0;                           // that ended because they were over
  bool fair_ = false;     // the last slice ran out: siblings take turns, in no order
  uint32_t awaited_ = 0;  // not 0: the handler wants its node parked for these lanes
  uint64_t issued_ = 0;
  uint64_t accesses_ = 0;
  WarpClock clock_;
  uint64_t global_loads_ = 0;
  std::vector<LaneScratch> regs_;
  std::vector<LaneScratch> special_;
  // What special_ was filled for; only the block's coordinates change from block to block.
  struct SpecialKey {
    LaunchShape shape;
    uint64_t used = 0;
    uint64_t shared_bytes = 0;
    uint32_t first_thread = ~0u;
    uint32_t sm_count = 0;
    bool cooperative = false;
    bool operator==(const SpecialKey&) const;
  };
  SpecialKey special_key_;
  std::vector<uint8_t> local_;
  uint32_t local_bytes_ = 0;  // per thread
};

}  // namespace gacer::simdevice
