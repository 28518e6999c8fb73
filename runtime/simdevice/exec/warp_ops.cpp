// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/warp_ops.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/specials.h"

namespace gacer::simdevice {
namespace {

template <typename F>
void each_lane(uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

void write_predicate(Warp& warp, Ref dst, uint32_t value, uint32_t mask) {
  uint32_t* d = warp.lanes<uint32_t>(dst);
  *d = (*d & ~mask) | (value & mask);
}

// True: all lanes that the lanes in `mask` name as members are here. They need not name the same
// ones: several groups of lanes may do their own operation at a time.
bool members_here(Warp& warp, const Insn& in, uint32_t mask) {
  if (!in.e.used()) return true;
  const uint32_t* named = warp.lanes<uint32_t>(in.e);
  uint32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= (mask >> i & 1u) != 0 ? named[i] : 0;
  return warp.all_here(all, mask);
}

// f(lanes that name the same members and are among them), for each such group.
template <typename F>
void each_group(Warp& warp, const Insn& in, uint32_t mask, F f) {
  if (!in.e.used()) return f(mask);
  const uint32_t* named = warp.lanes<uint32_t>(in.e);
  for (uint32_t left = mask; left != 0;) {
    const uint32_t members = named[std::countr_zero(left)];
    uint32_t same = 0;
    for (int i = 0; i < kLanes; ++i) same |= static_cast<uint32_t>(named[i] == members) << i;
    same &= left;
    f(same);
    left &= ~same;
  }
}

}  // namespace

bool predicate_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const uint32_t a = *warp.lanes<uint32_t>(in.a) ^ ((in.mode & 1) != 0 ? ~0u : 0u);
  const uint32_t b = *warp.lanes<uint32_t>(in.b) ^ ((in.mode & 2) != 0 ? ~0u : 0u);
  const uint32_t value = in.bool_op == BoolOp::kOr    ? a | b
                         : in.bool_op == BoolOp::kXor ? a ^ b
                                                      : a & b;
  write_predicate(warp, in.dst, value, mask);
  return true;
}

bool isspace_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const uint64_t* a = warp.lanes<uint64_t>(in.a);
  uint32_t value = 0;
  each_lane(mask, [&](uint32_t lane) {
    uint64_t address = a[lane];
    value |= static_cast<uint32_t>(narrow(address) == in.space) << lane;
  });
  write_predicate(warp, in.dst, value, mask);
  return true;
}

namespace {

// Source lane of shfl, and whether it lies in the segment.
struct ShuffleSource {
  uint32_t lane;
  bool valid;
};
ShuffleSource shuffle_source(ShuffleMode mode, uint32_t lane, uint32_t b, uint32_t c) {
  b &= 31;
  const uint32_t clamp = c & 31, segment = (c >> 8) & 31;
  const uint32_t least = lane & segment, most = least | (clamp & ~segment);
  int from = 0;
  bool valid = false;
  switch (mode) {
    case ShuffleMode::kUp:
      from = static_cast<int>(lane) - static_cast<int>(b);
      valid = from >= static_cast<int>(most);
      break;
    case ShuffleMode::kDown:
      from = static_cast<int>(lane + b);
      valid = from <= static_cast<int>(most);
      break;
    case ShuffleMode::kButterfly:
      from = static_cast<int>(lane ^ b);
      valid = from <= static_cast<int>(most);
      break;
    case ShuffleMode::kIndex:
      from = static_cast<int>(least | (b & ~segment));
      valid = from <= static_cast<int>(most);
      break;
  }
  return {valid ? static_cast<uint32_t>(from) : lane, valid};
}

}  // namespace

bool shuffle_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!members_here(warp, in, mask)) return false;
  uint32_t from[kLanes];
  std::memcpy(from, warp.lanes<uint32_t>(in.a), sizeof(from));
  const uint32_t *b = warp.lanes<uint32_t>(in.b), *c = warp.lanes<uint32_t>(in.c);
  uint32_t result[kLanes];
  uint32_t valid = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const ShuffleSource s =
        shuffle_source(static_cast<ShuffleMode>(in.mode), lane, b[lane], c[lane]);
    result[lane] = from[s.lane];
    valid |= static_cast<uint32_t>(s.valid) << lane;
  }
  warp.memory().blend32(warp.lanes<void>(in.dst), result, mask);
  if (in.dst2.used()) write_predicate(warp, in.dst2, valid, mask);
  return true;
}

bool vote_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!members_here(warp, in, mask)) return false;
  const uint32_t votes = *warp.lanes<uint32_t>(in.a) ^ (in.c_negated ? ~0u : 0u);
  const auto mode = static_cast<VoteMode>(in.mode);
  uint32_t agreed = 0;
  each_group(warp, in, mask, [&](uint32_t voters) {
    const uint32_t yes = votes & voters;
    if (mode == VoteMode::kBallot)
      each_lane(voters, [&](uint32_t lane) { warp.lanes<uint32_t>(in.dst)[lane] = yes; });
    const bool result = mode == VoteMode::kAll   ? yes == voters
                        : mode == VoteMode::kAny ? yes != 0
                                                 : yes == 0 || yes == voters;
    if (result) agreed |= voters;
  });
  if (mode != VoteMode::kBallot) write_predicate(warp, in.dst, agreed, mask);
  return true;
}

bool match_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!members_here(warp, in, mask)) return false;
  uint64_t value[kLanes] = {};
  each_lane(mask, [&](uint32_t lane) {
    value[lane] =
        (in.mode & 2) != 0 ? warp.lanes<uint64_t>(in.a)[lane] : warp.lanes<uint32_t>(in.a)[lane];
  });
  uint32_t* d = warp.lanes<uint32_t>(in.dst);
  uint32_t agree = 0;
  each_group(warp, in, mask, [&](uint32_t voters) {
    each_lane(voters, [&](uint32_t lane) {
      uint32_t same = 0;
      each_lane(voters, [&](uint32_t other) {
        same |= static_cast<uint32_t>(value[other] == value[lane]) << other;
      });
      const bool all = same == voters;
      agree |= static_cast<uint32_t>(all) << lane;
      d[lane] = (in.mode & 1) != 0 ? (all ? voters : 0) : same;
    });
  });
  if (in.dst2.used()) write_predicate(warp, in.dst2, agree, mask);
  return true;
}

namespace {

uint32_t reduce_two(ReduxOp op, uint32_t x, uint32_t y) {
  const auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  switch (op) {
    case ReduxOp::kAdd:
      return x + y;
    case ReduxOp::kMinU:
      return std::min(x, y);
    case ReduxOp::kMaxU:
      return std::max(x, y);
    case ReduxOp::kMinS:
      return static_cast<uint32_t>(std::min(sx, sy));
    case ReduxOp::kMaxS:
      return static_cast<uint32_t>(std::max(sx, sy));
    case ReduxOp::kAnd:
      return x & y;
    case ReduxOp::kOr:
      return x | y;
    case ReduxOp::kXor:
      return x ^ y;
  }
  return x;
}

}  // namespace

bool redux_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!members_here(warp, in, mask)) return false;
  uint32_t a[kLanes];
  std::memcpy(a, warp.lanes<uint32_t>(in.a), sizeof(a));
  each_group(warp, in, mask, [&](uint32_t voters) {
    uint32_t sum = a[std::countr_zero(voters)];
    each_lane(voters & (voters - 1), [&](uint32_t lane) {
      sum = reduce_two(static_cast<ReduxOp>(in.mode), sum, a[lane]);
    });
    each_lane(voters, [&](uint32_t lane) { warp.lanes<uint32_t>(in.dst)[lane] = sum; });
  });
  return true;
}

bool activemask_handler(Warp& warp, const Insn& in, uint32_t mask) {
  each_lane(mask, [&](uint32_t lane) { warp.lanes<uint32_t>(in.dst)[lane] = mask; });
  return true;
}

bool warp_barrier_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return members_here(warp, in, mask);
}

bool elect_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!members_here(warp, in, mask)) return false;
  uint32_t leaders = 0;
  each_group(warp, in, mask, [&](uint32_t voters) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(voters));
    leaders |= 1u << leader;
    if (in.dst.used())
      each_lane(voters, [&](uint32_t lane) { warp.lanes<uint32_t>(in.dst)[lane] = leader; });
  });
  write_predicate(warp, in.dst2, leaders, mask);
  return true;
}

bool fence_handler(Warp&, const Insn&, uint32_t) {
  // Pairs with itself in other threads that run blocks of the launch: each sees what came before
  // the earlier ones. A word of all, as thread sanitizers do not know fences.
  static std::atomic<uint32_t> fences{0};
  fences.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

bool copy_async_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const uint32_t bytes = in.mode & 0x7fu;
  LaneAddresses to, from;
  lane_addresses(warp, in.a, in.wide_address, in.imm, bytes, mask, to);
  lane_addresses(warp, in.b, (in.mode & 0x80) != 0,
                 static_cast<int64_t>(warp.lanes<uint64_t>(in.e)[0]), bytes, mask, from);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    if ((to.at[lane] | from.at[lane]) % bytes != 0)
      return warp.fault(FaultKind::kMisalignedAddress, in, lane,
                        "cp.async of misaligned addresses");
    uint8_t buffer[16] = {};
    const uint32_t read = std::min(bytes, warp.lanes<uint32_t>(in.c)[lane]);
    if (read != 0 && !read_bytes(warp, in, MemSpace::kGlobal, lane, from.at[lane], buffer, read))
      return false;
    if (!write_bytes(warp, in, MemSpace::kShared, lane, to.at[lane], buffer, bytes)) return false;
  }
  return true;
}

bool trap_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return warp.fault(FaultKind::kTrap, in, static_cast<uint32_t>(std::countr_zero(mask)), "trap");
}

}  // namespace gacer::simdevice
