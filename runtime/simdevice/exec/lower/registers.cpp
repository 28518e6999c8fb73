// SPDX-License-Identifier: Apache-2.0
// Liveness over virtual registers, and their places in the frame.
#include <algorithm>

#include "runtime/simdevice/exec/lower/flow_graph.h"
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {
namespace {

class BitSet {
 public:
  explicit BitSet(size_t bits = 0) : words_((bits + 63) / 64) {}
  bool test(uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(uint32_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void clear(uint32_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  // True: something was added.
  bool add(const BitSet& other) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      fresh |= other.words_[i] & ~words_[i];
      words_[i] |= other.words_[i];
    }
    return fresh != 0;
  }
  void remove(const BitSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }
  template <typename F>
  void each(F f) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t w = words_[i]; w != 0; w &= w - 1)
        f(static_cast<uint32_t>(i * 64 + static_cast<size_t>(__builtin_ctzll(w))));
  }

 private:
  std::vector<uint64_t> words_;
};

bool is_virtual(Ref ref) {
  return ref.used() && ref.bank() == Bank::kFrame;
}

class Liveness {
 public:
  explicit Liveness(FunctionCode& fn) : fn_(fn), count_(fn.reg_bits.size()) {
    for (auto* sets : {&uses_, &defs_, &in_, &out_}) sets->assign(fn.blocks.size(), BitSet(count_));
  }

  void run() {
    for (uint32_t b = 0; b < fn_.blocks.size(); ++b) summarise(b);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t b = static_cast<uint32_t>(fn_.blocks.size()); b-- > 0;) {
        for (uint32_t s : successors_of(fn_, b)) out_[b].add(in_[s]);
        BitSet through = out_[b];
        through.remove(defs_[b]);
        through.add(uses_[b]);
        changed |= in_[b].add(through);
      }
    }
  }

  const BitSet& entry() const { return in_[0]; }

  uint32_t greatest() {
    uint32_t most = 0;
    for (uint32_t b = 0; b < fn_.blocks.size(); ++b) most = std::max(most, greatest_in(b));
    return most;
  }

 private:
  // A guarded write keeps the old value in other lanes, so it does not end a life.
  static bool ends_life(const Insn& in) { return !in.guard.used(); }

  void summarise(uint32_t b) {
    BasicBlock& bb = fn_.blocks[b];
    const auto visit = [&](Ref& ref, bool is_write, bool kills) {
      if (!is_virtual(ref)) return;
      if (!is_write || !kills) {
        if (!defs_[b].test(ref.offset())) uses_[b].set(ref.offset());
      }
      if (is_write && kills && !uses_[b].test(ref.offset())) defs_[b].set(ref.offset());
    };
    for (uint32_t i = bb.first; i < bb.first + bb.count; ++i) {
      Insn& in = fn_.insns[i];
      for_each_ref(fn_, in, [&](Ref& ref, bool is_write) { visit(ref, is_write, ends_life(in)); });
    }
    for_each_ref(fn_, bb, [&](Ref& ref, bool is_write) { visit(ref, is_write, true); });
  }

  uint32_t words_of(uint32_t reg) const {
    return fn_.reg_bits[reg] == 64 ? 2 : fn_.reg_bits[reg] == 1 ? 0 : 1;
  }

  uint32_t greatest_in(uint32_t b) {
    BitSet live = out_[b];
    uint32_t now = 0;
    live.each([&](uint32_t r) { now += words_of(r); });
    uint32_t most = now;
    const auto born = [&](Ref& ref) {
      if (!is_virtual(ref) || live.test(ref.offset())) return;
      live.set(ref.offset());
      now += words_of(ref.offset());
    };
    BasicBlock& bb = fn_.blocks[b];
    for_each_ref(fn_, bb, [&](Ref& ref, bool is_write) {
      if (!is_write) born(ref);
    });
    for (uint32_t i = bb.first + bb.count; i-- > bb.first;) {
      Insn& in = fn_.insns[i];
      for_each_ref(fn_, in, [&](Ref& ref, bool is_write) {
        if (!is_write || !ends_life(in) || !is_virtual(ref) || !live.test(ref.offset())) return;
        live.clear(ref.offset());
        now -= words_of(ref.offset());
      });
      for_each_ref(fn_, in, [&](Ref& ref, bool is_write) {
        if (!is_write) born(ref);
      });
      most = std::max(most, now);
    }
    return most;
  }

  FunctionCode& fn_;
  size_t count_;
  std::vector<BitSet> uses_, defs_, in_, out_;
};

uint32_t slot_bytes(uint8_t bits) {
  return bits == 1 ? 64 : bits * kLanes / 8;
}

}  // namespace

bool allocate_registers(FunctionCode& fn) {
  // Bounds the bit sets: blocks x registers.
  if (fn.blocks.size() * fn.reg_bits.size() > (uint64_t{1} << 32)) return false;
  Liveness live(fn);
  live.run();
  fn.live_regs = live.greatest();
  std::vector<uint32_t> place(fn.reg_bits.size());
  uint64_t at = 0;
  for (size_t r = 0; r < fn.reg_bits.size(); ++r) {
    place[r] = static_cast<uint32_t>(at);
    at += slot_bytes(fn.reg_bits[r]);
  }
  if (at > Ref::kOffsetMask) return false;
  fn.frame_bytes = static_cast<uint32_t>((at + 255) & ~uint64_t{255});
  live.entry().each([&](uint32_t r) {
    fn.cleared.push_back(place[r]);
    fn.cleared_bytes.push_back(slot_bytes(fn.reg_bits[r]));
  });
  const auto move = [&](Ref& ref) {
    if (is_virtual(ref)) ref = Ref::make(Bank::kFrame, place[ref.offset()]);
  };
  for (Insn& in : fn.insns) {
    for (Ref* r : {&in.dst, &in.dst2, &in.a, &in.b, &in.c, &in.e, &in.guard}) move(*r);
  }
  for (Ref& r : fn.lists) move(r);
  for (CallSite& site : fn.sites) move(site.address);
  for (BasicBlock& bb : fn.blocks)
    for (Ref* r : {&bb.predicate, &bb.index, &bb.threads, &bb.dst}) move(*r);
  return true;
}

}  // namespace gacer::simdevice
