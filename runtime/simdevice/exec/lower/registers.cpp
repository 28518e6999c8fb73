// SPDX-License-Identifier: Apache-2.0
// Liveness over virtual registers, and their places in the frame.
#include <algorithm>
#include <queue>

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

  const BitSet& live_in(uint32_t block) const { return in_[block]; }
  const BitSet& live_out(uint32_t block) const { return out_[block]; }

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

// Linear scan: a register's life is one stretch of the code in block order; registers of one width
// whose stretches do not overlap share a place. Per lane this is sound under divergence too,
// because a lane never writes the place of another. A result may take the place of an operand that
// dies there: handlers and lane rows read a lane's operands before they write its result.
class FrameLayout {
 public:
  FrameLayout(FunctionCode& fn, const Liveness& live) : fn_(fn), lives_(fn.reg_bits.size()) {
    uint32_t at = 0;
    for (uint32_t b = 0; b < fn.blocks.size(); ++b) at = add_block(b, live, at);
  }

  // Offsets by virtual register; the frame's size goes to `end`.
  std::vector<uint32_t> run(uint64_t& end) {
    std::vector<uint32_t> order;
    for (uint32_t r = 0; r < lives_.size(); ++r)
      if (lives_[r].first <= lives_[r].last) order.push_back(r);
    std::sort(order.begin(), order.end(),
              [this](uint32_t a, uint32_t b) { return lives_[a].first < lives_[b].first; });
    std::vector<uint32_t> place(lives_.size(), 0);
    for (uint32_t r : order) place[r] = take_place(r, end);
    return place;
  }

 private:
  struct Life {
    uint32_t first = ~0u, last = 0;
    void cover(uint32_t at) {
      first = std::min(first, at);
      last = std::max(last, at);
    }
  };
  struct Taken {
    uint32_t free_after, offset;
    bool operator<(const Taken& other) const {
      return free_after > other.free_after;
    }  // soonest on top
  };
  struct Places {
    std::priority_queue<Taken> taken;
    std::vector<uint32_t> free;
  };

  // Even positions read, odd ones write.
  uint32_t add_block(uint32_t b, const Liveness& live, uint32_t at) {
    BasicBlock& bb = fn_.blocks[b];
    live.live_in(b).each([&](uint32_t r) { lives_[r].cover(at); });
    const auto visit = [&](Ref& ref, bool is_write) {
      if (is_virtual(ref)) lives_[ref.offset()].cover(at + is_write);
    };
    for (uint32_t i = bb.first; i < bb.first + bb.count; ++i, at += 2)
      for_each_ref(fn_, fn_.insns[i], visit);
    for_each_ref(fn_, bb, visit);
    at += 2;
    live.live_out(b).each([&](uint32_t r) { lives_[r].cover(at); });
    return at;
  }

  uint32_t take_place(uint32_t r, uint64_t& end) {
    Places& places = places_[fn_.reg_bits[r] == 1 ? 0 : fn_.reg_bits[r] / 16];
    for (; !places.taken.empty() && places.taken.top().free_after < lives_[r].first;
         places.taken.pop())
      places.free.push_back(places.taken.top().offset);
    if (places.free.empty()) {
      places.free.push_back(static_cast<uint32_t>(end));
      end += slot_bytes(fn_.reg_bits[r]);
    }
    // The one freed last: its bytes are in the cache.
    const uint32_t offset = places.free.back();
    places.free.pop_back();
    places.taken.push({lives_[r].last, offset});
    return offset;
  }

  FunctionCode& fn_;
  std::vector<Life> lives_;
  Places places_[5];  // by width: predicates, 16, 32, -, 64 bits
};

void move_to_places(FunctionCode& fn, const std::vector<uint32_t>& place) {
  const auto move = [&](Ref& ref) {
    if (is_virtual(ref)) ref = Ref::make(Bank::kFrame, place[ref.offset()]);
  };
  for (Insn& in : fn.insns)
    for (Ref* r : {&in.dst, &in.dst2, &in.a, &in.b, &in.c, &in.e, &in.guard}) move(*r);
  for (Ref& r : fn.lists) move(r);
  for (CallSite& site : fn.sites) move(site.address);
  for (BasicBlock& bb : fn.blocks)
    for (Ref* r : {&bb.predicate, &bb.index, &bb.threads, &bb.dst}) move(*r);
}

}  // namespace

bool allocate_registers(FunctionCode& fn) {
  // Bounds the bit sets: blocks x registers.
  if (uint64_t{fn.blocks.size()} * fn.reg_bits.size() > (uint64_t{1} << 28)) return false;
  Liveness live(fn);
  live.run();
  fn.live_regs = live.greatest();
  uint64_t end = 256;  // what an unused Ref reads
  const std::vector<uint32_t> place = FrameLayout(fn, live).run(end);
  if (end > Ref::kOffsetMask / 2) return false;
  fn.frame_bytes = static_cast<uint32_t>((end + 255) & ~uint64_t{255});
  live.live_in(0).each([&](uint32_t r) {
    fn.cleared.push_back(place[r]);
    fn.cleared_bytes.push_back(slot_bytes(fn.reg_bits[r]));
  });
  move_to_places(fn, place);
  return true;
}

}  // namespace gacer::simdevice
