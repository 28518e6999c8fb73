// SPDX-License-Identifier: Apache-2.0
// How a warp runs straight-line code; warp_flow.cpp has what changes where lanes are.
#include "runtime/simdevice/exec/warp.h"

#include <algorithm>
#include <cstring>

namespace gacer::simdevice {
namespace {

constexpr uint32_t kSliceBlocks = 20'000;
// After that many slices lanes that wait to meet the others again are let go: the others may wait
// for them in a way that is not recognised.
constexpr uint32_t kSlicesTogether = 50;

}  // namespace

void Warp::start(BlockRun& block, const FunctionCode& kernel, uint32_t first_thread,
                 uint32_t threads) {
  block_ = &block;
  live_ = threads >= kLanes ? ~0u : (1u << threads) - 1;
  first_thread_ = first_thread;
  nodes_.clear();
  free_.clear();
  ready_.clear();
  parked_.clear();
  current_index_ = -1;
  issued_ = global_loads_ = accesses_ = 0;
  clock_.reset();
  last_poll_ = idle_polls_ = slices_ = 0;
  cluster_phase_.fill(~0u);
  fair_ = false;
  banks_[static_cast<uint32_t>(Bank::kConst)] = const_cast<uint8_t*>(block.launch().pool);
  fill_specials();
  banks_[static_cast<uint32_t>(Bank::kSpecial)] = bytes_of(special_);
  Node root;
  root.mask = live_;
  root.frame.code = &kernel;
  local_bytes_ = 0;
  grow_for(root.frame);
  std::fill(local_.begin(), local_.end(), uint8_t{0});
  for (size_t i = 0; i < kernel.cleared.size(); ++i)
    std::memset(bytes_of(regs_) + kernel.cleared[i], 0, kernel.cleared_bytes[i]);
  ready_.push_back(add_node(root));
}

bool Warp::grow_for(const Frame& frame) {
  constexpr uint32_t kMaxRegisterBytes = 64u << 20, kMaxLocalBytes = 512u << 10;
  const uint64_t regs = uint64_t{frame.regs} + frame.code->frame_bytes;
  const uint64_t local = uint64_t{frame.local} + frame.code->local_bytes;
  if (regs > kMaxRegisterBytes || local > kMaxLocalBytes) return false;
  const size_t slots = (regs + sizeof(LaneScratch) - 1) / sizeof(LaneScratch);
  if (regs_.size() < slots) regs_.resize(std::max(slots, regs_.size() * 3 / 2));
  local_bytes_ = std::max(local_bytes_, static_cast<uint32_t>((local + 3) & ~uint64_t{3}));
  if (local_.size() < size_t{local_bytes_} * kLanes) local_.resize(size_t{local_bytes_} * kLanes);
  return true;
}

void Warp::set_current(int32_t index) {
  current_index_ = index;
  current_ = index < 0 ? nullptr : &nodes_[index];
  if (index >= 0) banks_[0] = bytes_of(regs_) + current_->frame.regs;
}

WarpStatus Warp::run() {
  slice_ = kSliceBlocks;
  idle_polls_ = 0;
  // Lanes that spin must not keep from going on those that wait for each other only.
  if (!parked_.empty()) release_parked();
  while (pick()) {
    const Step step = run_node();
    if (step == Step::kFault) return WarpStatus::kFault;
    if (step == Step::kYield)
      return idle_polls_ >= kIdlePolls ? WarpStatus::kSpinning : WarpStatus::kYielded;
  }
  if (block_->failed()) return WarpStatus::kFault;
  return live_ == 0 ? WarpStatus::kDone : WarpStatus::kBlocked;
}

bool Warp::pick() {
  if (current_index_ >= 0) return true;
  if (ready_.empty() && !parked_.empty() && !release_warp_sync()) return false;
  if (ready_.empty()) return false;
  set_current(ready_.back());
  ready_.pop_back();
  return true;
}

Warp::Step Warp::run_node() {
  for (;;) {
    const Node& node = *current_;
    if (node.block == node.rejoin) {
      end_current();
      return Step::kNodeOver;
    }
    if (!ready_.empty() && merge_with_sibling()) continue;
    const FunctionCode& fn = *node.frame.code;
    const BasicBlock& bb = fn.blocks[node.block];
    if (!block_->count(fn, node.block, node.mask)) {
      block_->fail(FaultKind::kTimeout, block_->where(first_thread_) +
                                            ": more instructions than the launch may execute");
      return Step::kFault;
    }
    issued_ += bb.issued;
    accesses_ += bb.pipes.memory;
    clock_.run(bb.clocks);
    global_loads_ += bb.pipes.global_loads;
    if (!run_insns(bb, node.mask)) return awaited_ != 0 ? park() : Step::kFault;
    const Step step = terminate(bb);
    if (step != Step::kGoOn) return step;
    if (--slice_ == 0) {
      fair_ = true;
      if (idle_polls_ >= kIdlePolls || ++slices_ % kSlicesTogether == 0) release_arrived();
      ready_.insert(ready_.begin(), current_index_);
      set_current(-1);
      return Step::kYield;
    }
  }
}

bool Warp::run_insns(const BasicBlock& bb, uint32_t mask) {
  const Insn* in = current_->frame.code->insns.data() + bb.first;
  for (const Insn* end = in + bb.count; in != end; ++in) {
    uint32_t active = mask;
    if (in->guard.used()) {
      active &= holds(in->guard, in->guard_negated);
      if (active == 0) continue;
    }
    if (in->kind == InsnKind::kLane) {
      run_lane(*in, active);
    } else if (in->kind == InsnKind::kCompare) {
      run_compare(*in, active);
    } else if (!in->handler(*this, *in, active)) {
      return false;
    }
  }
  return true;
}

void Warp::run_lane(const Insn& in, uint32_t mask) {
  void* d = lanes<void>(in.dst);
  const void *a = lanes<void>(in.a), *b = lanes<void>(in.b), *c = lanes<void>(in.c),
             *e = lanes<void>(in.e);
  if ((live_ & ~mask) == 0) {
    in.lane(d, a, b, c, e);
    return;
  }
  LaneScratch scratch;
  in.lane(scratch.bytes, a, b, c, e);
  const MemoryTable& table = *memory_;
  (in.dst_bits == 32   ? table.blend32
   : in.dst_bits == 64 ? table.blend64
                       : table.blend16)(d, scratch.bytes, mask);
}

void Warp::run_compare(const Insn& in, uint32_t mask) {
  const uint32_t result = in.compare(lanes<void>(in.a), lanes<void>(in.b));
  uint32_t yes = result, no = ~result;
  if (in.bool_op != BoolOp::kNone) {
    const uint32_t other = holds(in.c, in.c_negated);
    const auto combine = [&](uint32_t x) {
      return in.bool_op == BoolOp::kAnd  ? x & other
             : in.bool_op == BoolOp::kOr ? x | other
                                         : x ^ other;
    };
    yes = combine(yes);
    no = combine(no);
  }
  const auto write = [&](Ref dst, uint32_t value) {
    uint32_t* d = lanes<uint32_t>(dst);
    *d = (*d & ~mask) | (value & mask);
  };
  if (in.dst.used()) write(in.dst, yes);
  if (in.dst2.used()) write(in.dst2, no);
}

bool Warp::fault(FaultKind kind, const Insn& in, uint32_t lane, const std::string& what) {
  return block_->fail(kind, block_->where(first_thread_ + lane) + ", line " +
                                std::to_string(in.line) + ": " + what);
}

}  // namespace gacer::simdevice
