// SPDX-License-Identifier: Apache-2.0
// Where the lanes of a warp go: branches, rejoining, calls, barriers, ends. See warp.h for the
// picture.
#include <algorithm>
#include <cstring>

#include "runtime/simdevice/exec/cluster.h"
#include "runtime/simdevice/exec/warp.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

int32_t Warp::add_node(const Node& node) {
  int32_t index = 0;
  if (free_.empty()) {
    index = static_cast<int32_t>(nodes_.size());
    nodes_.push_back(node);
  } else {
    index = free_.back();
    free_.pop_back();
    nodes_[index] = node;
  }
  if (current_index_ >= 0) current_ = &nodes_[current_index_];
  return index;
}

// The current node becomes the parent of what split() adds; it goes on at `rejoin`.
void Warp::fork(uint32_t rejoin) {
  current_->state = NodeState::kWaitsForChildren;
  current_->block = rejoin;
}

// A sibling of the current node, or a child if the node was forked.
void Warp::split(uint32_t mask, uint32_t block) {
  Node node;
  node.mask = mask;
  node.block = block;
  node.frame = current_->frame;
  const bool is_child = current_->state == NodeState::kWaitsForChildren;
  node.parent = is_child ? current_index_ : current_->parent;
  node.rejoin = is_child ? current_->block : current_->rejoin;
  if (node.parent >= 0) ++nodes_[node.parent].children;
  ready_.push_back(add_node(node));
}

// The current node's lanes have all arrived at its rejoin point or ended.
void Warp::end_current() {
  fair_ = false;
  int32_t index = current_index_;
  set_current(-1);
  while (index >= 0) {
    const int32_t parent = nodes_[index].parent;
    nodes_[index].mask = 0;
    free_.push_back(index);
    if (parent < 0 || --nodes_[parent].children != 0) return;
    if (nodes_[parent].mask != 0) {
      nodes_[parent].state = NodeState::kReady;
      nodes_[parent].is_call = false;  // its callee has returned: its own return goes further up
      ready_.push_back(parent);
      return;
    }
    index = parent;
  }
}

// Siblings that run on to the same rejoin point are taken in the order of their blocks, and become
// one again where they meet: loops with several exits stay together. A sibling that spins must not
// keep the others waiting for ever, so after a whole time slice they take turns. True: look at the
// current node again.
bool Warp::merge_with_sibling() {
  const int32_t other_index = ready_.back();
  Node& other = nodes_[other_index];
  if (other.parent != current_->parent || other.rejoin != current_->rejoin ||
      other.block > current_->block || other.frame.regs != current_->frame.regs ||
      other.frame.code != current_->frame.code)
    return false;
  if (other.block < current_->block) {
    if (fair_) return false;
    ready_.back() = current_index_;
    set_current(other_index);
    return true;
  }
  other.mask |= current_->mask;
  if (other.parent >= 0) --nodes_[other.parent].children;
  current_->mask = 0;
  free_.push_back(current_index_);
  ready_.pop_back();
  set_current(other_index);
  return true;
}

Warp::Step Warp::terminate(const BasicBlock& bb) {
  switch (bb.term) {
    case Terminator::kFall:
      current_->block = bb.next;
      return Step::kGoOn;
    case Terminator::kJump:
      current_->block = bb.target;
      return Step::kGoOn;
    case Terminator::kBranch:
      return branch(bb);
    case Terminator::kExit:
      return exit_lanes(bb);
    case Terminator::kReturn:
      return return_lanes(bb);
    case Terminator::kCall:
      return call(bb);
    case Terminator::kSwitch:
      return switch_to(bb);
    case Terminator::kBarrier:
      return at_barrier(bb);
  }
  return Step::kFault;
}

Warp::Step Warp::branch(const BasicBlock& bb) {
  const uint32_t mask = current_->mask;
  const uint32_t taken = mask & holds(bb.predicate, bb.negated), rest = mask & ~taken;
  if (rest == 0 || taken == 0) {
    current_->block = taken != 0 ? bb.target : bb.next;
    return Step::kGoOn;
  }
  diverge(bb.rejoin, {{taken, bb.target}, {rest, bb.next}});
  return current_index_ >= 0 ? Step::kGoOn : Step::kNodeOver;
}

// `ways` are two or more. Lanes that go straight to the rejoin point just wait there.
void Warp::diverge(uint32_t rejoin, std::initializer_list<Way> ways) {
  diverge(rejoin, std::data(ways), ways.size());
}

void Warp::diverge(uint32_t rejoin, const Way* ways, size_t count) {
  const bool in_place = rejoin == kNoBlock || rejoin == current_->rejoin;
  if (in_place) {
    // Our own rejoin point serves; we carry the first way that does not go there at once.
    size_t own = count;
    for (size_t i = 0; i < count; ++i) {
      if (ways[i].block == current_->rejoin && current_->rejoin != kNoBlock) continue;
      if (own == count) {
        own = i;
      } else {
        split(ways[i].mask, ways[i].block);
      }
    }
    current_->mask = own == count ? 0 : ways[own].mask;
    current_->block = own == count ? current_->rejoin : ways[own].block;
    return;
  }
  fork(rejoin);
  for (size_t i = count; i-- > 0;)
    if (ways[i].block != rejoin) split(ways[i].mask, ways[i].block);
  if (current_->children == 0) {
    current_->state = NodeState::kReady;  // all ways lead to the rejoin point
    return;
  }
  set_current(-1);
}

Warp::Step Warp::switch_to(const BasicBlock& bb) {
  const auto& targets = current_->frame.code->switches[bb.site];
  const uint32_t* index = lanes<uint32_t>(bb.index);
  std::array<Way, kLanes> ways;
  size_t count = 0;
  for (uint32_t left = current_->mask; left != 0;) {
    const uint32_t value = index[__builtin_ctz(left)];
    uint32_t same = 0;
    for (uint32_t m = left; m != 0; m &= m - 1)
      if (index[__builtin_ctz(m)] == value) same |= m & (0 - m);
    if (value >= targets.size()) {
      block_->fail(FaultKind::kTrap,
                   block_->where(first_thread_ + static_cast<uint32_t>(__builtin_ctz(same))) +
                       ", line " + std::to_string(bb.line) + ": brx.idx beyond its targets");
      return Step::kFault;
    }
    ways[count++] = {same, targets[value]};
    left &= ~same;
  }
  if (count == 1) {
    current_->block = ways[0].block;
    return Step::kGoOn;
  }
  diverge(bb.rejoin, ways.data(), count);
  return current_index_ >= 0 ? Step::kGoOn : Step::kNodeOver;
}

Warp::Step Warp::exit_lanes(const BasicBlock& bb) {
  uint32_t ending = current_->mask;
  if (bb.predicate.used()) ending &= holds(bb.predicate, bb.negated);
  if (ending != 0) {
    for (int32_t i = current_index_; i >= 0; i = nodes_[i].parent) nodes_[i].mask &= ~ending;
    live_ &= ~ending;
    block_->threads_ended(static_cast<uint32_t>(__builtin_popcount(ending)));
  }
  current_->block = bb.next;
  if (current_->mask != 0) return Step::kGoOn;
  end_current();
  return Step::kNodeOver;
}

Warp::Step Warp::return_lanes(const BasicBlock& bb) {
  uint32_t leaving = current_->mask;
  if (bb.predicate.used()) leaving &= holds(bb.predicate, bb.negated);
  int32_t index = current_index_;
  for (; index >= 0 && !nodes_[index].is_call; index = nodes_[index].parent)
    nodes_[index].mask &= ~leaving;
  if (index < 0) {
    block_->fail(FaultKind::kUnsupported, block_->where(first_thread_) + ": return without a call");
    return Step::kFault;
  }
  const Node& caller = nodes_[index];
  const CallSite& site = caller.frame.code->sites[caller.site];
  const FunctionCode& callee = *current_->frame.code;
  for (size_t i = 0; i < site.returns.size(); ++i)
    copy_locals(current_->frame.local + callee.returns[i].offset,
                caller.frame.local + site.returns[i].offset, site.returns[i].bytes, leaving);
  current_->block = bb.next;
  if (current_->mask != 0) return Step::kGoOn;
  end_current();
  return Step::kNodeOver;
}

void Warp::copy_locals(uint32_t from, uint32_t to, uint32_t bytes, uint32_t mask) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
    for (uint32_t i = 0; i < bytes; ++i) *local_word(to + i, lane) = *local_word(from + i, lane);
  }
}

Warp::Step Warp::call(const BasicBlock& bb) {
  const CallSite& site = current_->frame.code->sites[bb.site];
  const auto& functions = block_->launch().code->functions;
  const uint32_t mask = current_->mask;
  const int32_t caller = current_index_;
  const uint64_t* address = site.function == kNoBlock ? lanes<uint64_t>(site.address) : nullptr;
  current_->is_call = true;
  current_->site = bb.site;
  current_->state = NodeState::kWaitsForChildren;
  current_->block = bb.next;
  for (uint32_t left = mask; left != 0;) {
    uint64_t function = site.function;
    uint32_t same = left;
    if (address != nullptr) {
      const uint64_t value = address[__builtin_ctz(left)];
      same = 0;
      for (uint32_t m = left; m != 0; m &= m - 1)
        if (address[__builtin_ctz(m)] == value) same |= m & (0 - m);
      function = value - kFunctionTag;
    }
    if (function >= functions.size() || !enter(site, functions[function], same, caller)) {
      const bool known = function < functions.size() && can_enter(site, functions[function]);
      block_->fail(known ? FaultKind::kStackOverflow : FaultKind::kInvalidPc,
                   block_->where(first_thread_ + static_cast<uint32_t>(__builtin_ctz(same))) +
                       ", line " + std::to_string(bb.line) +
                       (known ? ": the call stack is full" : ": call of no function"));
      return Step::kFault;
    }
    left &= ~same;
    address = site.function == kNoBlock ? lanes<uint64_t>(site.address) : nullptr;
  }
  set_current(-1);
  return Step::kNodeOver;
}

bool Warp::can_enter(const CallSite& site, const FunctionCode& callee) {
  return callee.defined && !callee.is_entry && callee.params.size() == site.arguments.size() &&
         callee.returns.size() >= site.returns.size();
}

// Above the frames of all lanes: other lanes may be inside functions of other layouts, and a place
// holds 32 lanes of one width.
uint32_t Warp::first_free_frame() const {
  uint32_t end = 0;
  for (const Node& node : nodes_)
    if (node.mask != 0) end = std::max(end, node.frame.regs + node.frame.code->frame_bytes);
  return end;
}

bool Warp::enter(const CallSite& site, const FunctionCode& callee, uint32_t mask, int32_t caller) {
  if (!can_enter(site, callee)) return false;
  Node node;
  node.mask = mask;
  node.parent = caller;
  const Frame from = nodes_[caller].frame;
  node.frame.code = &callee;
  node.frame.regs = first_free_frame();
  node.frame.local = (from.local + from.code->local_bytes + 15u) & ~15u;
  if (!grow_for(node.frame)) return false;
  banks_[0] = bytes_of(regs_) + from.regs;
  for (size_t i = 0; i < site.arguments.size(); ++i)
    copy_locals(from.local + site.arguments[i].offset, node.frame.local + callee.params[i].offset,
                std::min(site.arguments[i].bytes, callee.params[i].bytes), mask);
  for (size_t i = 0; i < callee.cleared.size(); ++i) {
    uint8_t* d = bytes_of(regs_) + node.frame.regs + callee.cleared[i];
    const uint32_t width = callee.cleared_bytes[i] / kLanes;
    for (uint32_t m = mask; m != 0; m &= m - 1)
      std::memset(d + static_cast<uint32_t>(__builtin_ctz(m)) * width, 0, width);
  }
  ++nodes_[caller].children;
  ready_.push_back(add_node(node));
  return true;
}

void Warp::arrive_in_cluster(uint32_t mask) {
  const uint32_t phase = block_->cluster().arrive(static_cast<uint32_t>(__builtin_popcount(mask)));
  for (uint32_t m = mask; m != 0; m &= m - 1)
    cluster_phase_[static_cast<uint32_t>(__builtin_ctz(m))] = phase;
}

// Lanes whose phase is not over yet wait here; they come back when it is.
Warp::Step Warp::wait_for_cluster(const BasicBlock& bb) {
  const uint32_t phase = block_->cluster().phase();
  bool over = true;
  for (uint32_t m = current_->mask; m != 0; m &= m - 1)
    over &= cluster_phase_[static_cast<uint32_t>(__builtin_ctz(m))] != phase;
  if (over) {
    current_->block = bb.next;
    return Step::kGoOn;
  }
  current_->state = NodeState::kAtBarrier;
  current_->barrier = kClusterBarrier;
  set_current(-1);
  return Step::kNodeOver;
}

Warp::Step Warp::at_barrier(const BasicBlock& bb) {
  const auto mode = static_cast<BarrierMode>(bb.mode);
  if (mode == BarrierMode::kClusterWait) return wait_for_cluster(bb);
  if (mode == BarrierMode::kClusterArrive) {
    current_->block = bb.next;
    arrive_in_cluster(current_->mask);
    return Step::kGoOn;
  }
  BlockRun::Arrival arrival;
  const uint32_t mask = current_->mask;
  const uint32_t first = static_cast<uint32_t>(__builtin_ctz(mask));
  arrival.barrier = bb.index.used() ? lanes<uint32_t>(bb.index)[first] : 0;
  arrival.expected = bb.threads.used() ? lanes<uint32_t>(bb.threads)[first] : 0;
  if (arrival.barrier > 15) {
    block_->fail(FaultKind::kTrap, block_->where(first_thread_ + first) + ", line " +
                                       std::to_string(bb.line) + ": there are barriers 0 to 15");
    return Step::kFault;
  }
  // With a thread count, warps count as wholes.
  const bool whole = arrival.expected != 0 && mask == live_;
  arrival.lanes = whole ? kLanes : static_cast<uint32_t>(__builtin_popcount(mask));
  if (bb.predicate.used())
    arrival.votes =
        static_cast<uint32_t>(__builtin_popcount(mask & holds(bb.predicate, bb.negated)));
  if (mode == BarrierMode::kArrive) {
    current_->block = bb.next;
    block_->arrive(arrival);
    return Step::kGoOn;
  }
  current_->state = NodeState::kAtBarrier;
  current_->barrier = arrival.barrier;
  set_current(-1);
  block_->arrive(arrival);
  return Step::kNodeOver;
}

void Warp::release_barrier(uint32_t barrier) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.state != NodeState::kAtBarrier || node.barrier != barrier) continue;
    const BasicBlock& bb = node.frame.code->blocks[node.block];
    if (bb.dst.used()) write_barrier_result(node, bb);
    node.state = NodeState::kReady;
    node.block = bb.next;
    ready_.push_back(static_cast<int32_t>(i));
  }
}

void Warp::write_barrier_result(const Node& node, const BasicBlock& bb) {
  const uint32_t votes = block_->barrier_votes(node.barrier),
                 all = block_->barrier_lanes(node.barrier);
  uint8_t* d = bytes_of(regs_) + node.frame.regs + bb.dst.offset();
  const auto mode = static_cast<BarrierMode>(bb.mode);
  if (mode == BarrierMode::kRedPopc) {
    for (uint32_t m = node.mask; m != 0; m &= m - 1)
      reinterpret_cast<uint32_t*>(d)[__builtin_ctz(m)] = votes;
    return;
  }
  uint32_t* p = reinterpret_cast<uint32_t*>(d);
  const bool value = mode == BarrierMode::kRedAnd ? votes == all : votes != 0;
  *p = value ? *p | node.mask : *p & ~node.mask;
}

// Lanes that wait at a warp barrier for different ones become nodes of their own.
void Warp::split_by_members() {
  const FunctionCode& code = *current_->frame.code;
  const Insn& insn = code.insns[code.blocks[current_->block].first];
  if (insn.handler != warp_barrier_handler || !insn.e.used()) return;
  const uint32_t* named = lanes<uint32_t>(insn.e);
  for (;;) {
    const uint32_t mask = current_->mask, members = named[__builtin_ctz(mask)];
    uint32_t same = 0;
    for (uint32_t m = mask; m != 0; m &= m - 1)
      if (named[__builtin_ctz(m)] == members) same |= m & (0 - m);
    if (same == mask) {
      awaited_ = members;
      return;
    }
    Node node = *current_;
    node.mask = same;
    node.state = NodeState::kParked;
    node.wait_mask = members;
    if (node.parent >= 0) ++nodes_[node.parent].children;
    current_->mask &= ~same;
    parked_.push_back(add_node(node));
  }
}

Warp::Step Warp::park() {
  split_by_members();
  current_->state = NodeState::kParked;
  current_->wait_mask = awaited_;
  awaited_ = 0;
  parked_.push_back(current_index_);
  set_current(-1);
  return Step::kNodeOver;
}

// No node can run but some wait for lanes of their own warp. Those that wait at the same
// instruction for the same lanes run it together once nobody is missing. False: nobody can be
// helped now.
bool Warp::release_warp_sync() {
  if (release_parked()) return true;
  if (block_->failed()) return false;
  for (int32_t i : parked_)
    if (release_above(i, nodes_[i].wait_mask)) return true;
  for (const Node& node : nodes_)
    if (node.state == NodeState::kAtBarrier) return false;
  const Node& node = nodes_[parked_.front()];
  const FunctionCode& code = *node.frame.code;
  const Insn& insn = code.insns[code.blocks[node.block].first];
  block_->fail(FaultKind::kTimeout,
               block_->where(first_thread_ + static_cast<uint32_t>(__builtin_ctz(node.mask))) +
                   ", line " + std::to_string(insn.line) +
                   ": lanes wait at a warp-wide operation for lanes that do not come");
  return false;
}

// True: some went on. Nodes at the same instruction are tried together; lanes of several member
// masks may be among them.
bool Warp::release_parked() {
  for (int32_t leader : parked_) {
    const Node first = nodes_[leader];
    uint32_t together = 0;
    std::vector<int32_t> group;
    for (int32_t i : parked_) {
      const Node& node = nodes_[i];
      if (node.block != first.block || node.frame.code != first.frame.code ||
          node.frame.regs != first.frame.regs)
        continue;
      together |= node.mask;
      group.push_back(i);
    }
    if ((first.wait_mask & live_ & ~together) != 0) continue;
    if (run_group(group, together)) return true;
    if (block_->failed()) return false;
  }
  return release_warp_barrier();
}

// bar.warp.sync joins lanes at different places of the code, if they name the same members.
bool Warp::release_warp_barrier() {
  const auto is_barrier = [&](const Node& node) {
    const FunctionCode& code = *node.frame.code;
    const BasicBlock& bb = code.blocks[node.block];
    return bb.count == 1 && code.insns[bb.first].handler == warp_barrier_handler;
  };
  for (int32_t leader : parked_) {
    const uint32_t members = nodes_[leader].wait_mask;
    if (!is_barrier(nodes_[leader])) continue;
    uint32_t together = 0;
    std::vector<int32_t> group;
    for (int32_t i : parked_) {
      if (nodes_[i].wait_mask != members || !is_barrier(nodes_[i])) continue;
      together |= nodes_[i].mask;
      group.push_back(i);
    }
    if ((members & live_ & ~together) != 0) continue;
    for (int32_t i : group) unpark(i);
    return true;
  }
  return false;
}

void Warp::unpark(int32_t index) {
  parked_.erase(std::find(parked_.begin(), parked_.end(), index));
  Node& node = nodes_[index];
  node.state = NodeState::kReady;
  node.block = node.frame.code->blocks[node.block].next;
  ready_.push_back(index);
}

// Runs the instruction at which the nodes of `group` are parked. False: a fault, or some lanes are
// still missing.
bool Warp::run_group(const std::vector<int32_t>& group, uint32_t together) {
  const int32_t before = current_index_;
  set_current(group.front());
  const BasicBlock& bb = current_->frame.code->blocks[current_->block];
  const bool ok = run_insns(bb, together);
  set_current(before);
  awaited_ = 0;
  if (!ok) return false;
  for (int32_t i : group) unpark(i);
  return true;
}

// The lanes of the current node spin: others of the warp may have to go on first, even those that
// wait to meet them again.
void Warp::release_arrived() {
  for (int32_t i = current_->parent; i >= 0; i = nodes_[i].parent) release_arrived(i);
}

// Nobody in the block can run: lanes that wait at a barrier may wait for lanes of their warp that
// have gone on to where the paths join. True: some of those go on.
bool Warp::release_for_barriers() {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].state == NodeState::kAtBarrier && release_above(static_cast<int32_t>(i), ~0u))
      return true;
  return false;
}

// Lanes of `wanted` that wait to meet those of the node `index` again go on without them, as
// independent threads may. False: there are none.
bool Warp::release_above(int32_t index, uint32_t wanted) {
  for (int32_t i = nodes_[index].parent; i >= 0; i = nodes_[i].parent) {
    if ((arrived_at(i) & wanted) == 0) continue;
    release_arrived(i);
    return true;
  }
  return false;
}

// Lanes that are where `parent` waits for its children.
uint32_t Warp::arrived_at(int32_t parent) const {
  uint32_t busy = 0;
  for (const Node& node : nodes_)
    for (int32_t i = node.mask == 0 ? -1 : node.parent; i >= 0; i = nodes_[i].parent)
      if (i == parent) busy |= node.mask;
  return nodes_[parent].mask & ~busy;
}

// They go on by themselves.
void Warp::release_arrived(int32_t parent) {
  const uint32_t arrived = arrived_at(parent);
  if (arrived == 0) return;
  Node node = nodes_[parent];
  node.mask = arrived;
  node.children = 0;
  node.state = NodeState::kReady;
  node.is_call = false;
  nodes_[parent].mask &= ~arrived;
  if (node.parent >= 0) ++nodes_[node.parent].children;
  ready_.push_back(add_node(node));
}

}  // namespace gacer::simdevice
