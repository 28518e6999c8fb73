// SPDX-License-Identifier: Apache-2.0
// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy on the
// reversed graph.
#include <algorithm>

#include "runtime/simdevice/exec/lower/flow_graph.h"
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {
namespace {

class PostDominators {
 public:
  explicit PostDominators(FunctionCode& fn)
      : fn_(fn), exit_(static_cast<uint32_t>(fn.blocks.size())) {
    predecessors_.resize(exit_ + 1);
    successors_.resize(exit_ + 1);
    for (uint32_t b = 0; b < exit_; ++b) {
      successors_[b] = successors_of(fn, b);
      if (ends_here(fn.blocks[b])) successors_[b].push_back(exit_);
      for (uint32_t s : successors_[b]) predecessors_[s].push_back(b);
    }
  }

  void run() {
    number_from_exit();
    immediate_.assign(exit_ + 1, kNoBlock);
    immediate_[exit_] = exit_;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = order_.size() - 1; i-- > 0;) changed |= update(order_[i]);
    }
    for (uint32_t b = 0; b < exit_; ++b)
      fn_.blocks[b].rejoin = immediate_[b] == exit_ ? kNoBlock : immediate_[b];
  }

 private:
  // Post-order of the reversed graph: exit_ comes last.
  void number_from_exit() {
    number_.assign(exit_ + 1, kNoBlock);
    std::vector<std::pair<uint32_t, size_t>> stack{{exit_, 0}};
    std::vector<bool> seen(exit_ + 1, false);
    seen[exit_] = true;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next < predecessors_[b].size()) {
        const uint32_t p = predecessors_[b][next++];
        if (!seen[p]) {
          seen[p] = true;
          stack.emplace_back(p, 0);
        }
      } else {
        number_[b] = static_cast<uint32_t>(order_.size());
        order_.push_back(b);
        stack.pop_back();
      }
    }
  }

  bool update(uint32_t b) {
    uint32_t found = kNoBlock;
    for (uint32_t s : successors_[b]) {
      if (number_[s] == kNoBlock || immediate_[s] == kNoBlock) continue;
      found = found == kNoBlock ? s : meet(found, s);
    }
    if (found == immediate_[b]) return false;
    immediate_[b] = found;
    return true;
  }

  uint32_t meet(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = immediate_[a];
      while (number_[b] < number_[a]) b = immediate_[b];
    }
    return a;
  }

  FunctionCode& fn_;
  uint32_t exit_;
  std::vector<std::vector<uint32_t>> predecessors_, successors_;
  std::vector<uint32_t> order_, number_, immediate_;
};

}  // namespace

bool ends_here(const BasicBlock& bb) {
  return bb.term == Terminator::kExit || bb.term == Terminator::kReturn;
}

std::vector<uint32_t> successors_of(const FunctionCode& fn, uint32_t block) {
  const BasicBlock& bb = fn.blocks[block];
  std::vector<uint32_t> out;
  const bool conditional_end = ends_here(bb) && bb.predicate.used();
  const bool has_next =
      (!ends_here(bb) && bb.term != Terminator::kJump && bb.term != Terminator::kSwitch) ||
      conditional_end;
  if (has_next && bb.next < fn.blocks.size()) out.push_back(bb.next);
  if (bb.target != kNoBlock) out.push_back(bb.target);
  if (bb.term == Terminator::kSwitch)
    out.insert(out.end(), fn.switches[bb.site].begin(), fn.switches[bb.site].end());
  return out;
}

void find_rejoin_points(FunctionCode& fn) {
  PostDominators(fn).run();
}

}  // namespace gacer::simdevice
