// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/atomics.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/lanes/lane_math.h"
#include "runtime/simdevice/exec/memory_access.h"

namespace gacer::simdevice {
namespace {

using ptx::Type;

// What an operation makes of the old value. U: the bits, T: the type.
template <typename U, typename T, AtomicOp kOp>
U combine(U old_bits, U b_bits, U c_bits) {
  const T old = std::bit_cast<T>(old_bits), b = std::bit_cast<T>(b_bits);
  if constexpr (kOp == AtomicOp::kAdd) {
    if constexpr (std::is_integral_v<T>)
      return old_bits + b_bits;
    else
      return std::bit_cast<U>(old + b);
  }
  if constexpr (kOp == AtomicOp::kMin) return std::bit_cast<U>(std::min(old, b));
  if constexpr (kOp == AtomicOp::kMax) return std::bit_cast<U>(std::max(old, b));
  if constexpr (kOp == AtomicOp::kInc) return old_bits >= b_bits ? 0 : old_bits + 1;
  if constexpr (kOp == AtomicOp::kDec)
    return old_bits == 0 || old_bits > b_bits ? b_bits : old_bits - 1;
  if constexpr (kOp == AtomicOp::kAnd) return old_bits & b_bits;
  if constexpr (kOp == AtomicOp::kOr) return old_bits | b_bits;
  if constexpr (kOp == AtomicOp::kXor) return old_bits ^ b_bits;
  if constexpr (kOp == AtomicOp::kExchange) return b_bits;
  if constexpr (kOp == AtomicOp::kCas) return old_bits == b_bits ? c_bits : old_bits;
  return old_bits;
}

// Half types, scalar and packed, added element by element.
template <typename U, bool kBfloat>
U add_halves(U old_bits, U b_bits) {
  U out = 0;
  for (size_t i = 0; i < sizeof(U) / 2; ++i) {
    const auto part = [&](U bits) { return static_cast<uint16_t>(bits >> (16 * i)); };
    const uint16_t sum =
        kBfloat ? float_to_bf16(bf16_to_float(part(old_bits)) + bf16_to_float(part(b_bits)))
                : float_to_half(half_to_float(part(old_bits)) + half_to_float(part(b_bits)));
    out = static_cast<U>(out | static_cast<U>(sum) << (16 * i));
  }
  return out;
}

// Sequentially consistent: pairs with itself in every other thread that runs blocks of the launch.
template <typename U, typename F>
U update(uint8_t* host, F next) {
  U* at = reinterpret_cast<U*>(host);
  U old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(at, &old, next(old), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

// Shared memory belongs to blocks that run on this thread.
template <typename U, typename F>
U update_alone(uint8_t* host, F next) {
  U old;
  std::memcpy(&old, host, sizeof old);
  const U value = next(old);
  std::memcpy(host, &value, sizeof value);
  return old;
}

template <typename U, typename F>
bool each_update(Warp& warp, const Insn& in, uint32_t mask, F next) {
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, sizeof(U), mask, addresses);
  bool changed = false;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    if (addresses.at[lane] % sizeof(U) != 0)
      return warp.fault(FaultKind::kMisalignedAddress, in, lane, "a misaligned atomic");
    uint8_t* host = resolve(warp, in, in.space, lane, addresses.at[lane], sizeof(U));
    if (host == nullptr) return false;
    const U b = warp.lanes<U>(in.b)[lane], c = in.c.used() ? warp.lanes<U>(in.c)[lane] : U{0};
    const auto apply = [&](U value) { return next(value, b, c); };
    const U old =
        in.space == MemSpace::kShared ? update_alone<U>(host, apply) : update<U>(host, apply);
    changed |= next(old, b, c) != old;
    if (in.dst.used()) warp.lanes<U>(in.dst)[lane] = old;
  }
  if (changed) {
    warp.progressed();
  } else {
    warp.polled(reinterpret_cast<uintptr_t>(&in));
  }
  if (in.space == MemSpace::kGlobal) {
    warp.block().traffic().add_lanes(addresses.at, mask, false);
    warp.block().traffic().add_lanes(addresses.at, mask, true);
  }
  return true;
}

template <typename U, typename T, AtomicOp kOp>
bool atomic_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return each_update<U>(warp, in, mask,
                        [](U old, U b, U c) { return combine<U, T, kOp>(old, b, c); });
}
template <typename U, bool kBfloat>
bool half_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return each_update<U>(warp, in, mask,
                        [](U old, U b, U) { return add_halves<U, kBfloat>(old, b); });
}

template <typename U, typename F>
void update_element(uint8_t* host, const void* value, void* old, F next) {
  U b;
  std::memcpy(&b, value, sizeof b);
  const U before = update<U>(host, [&](U x) { return next(x, b); });
  std::memcpy(old, &before, sizeof before);
}
template <typename U, typename T, AtomicOp kOp>
void element_update(uint8_t* host, const void* value, void* old) {
  update_element<U>(host, value, old, [](U x, U b) { return combine<U, T, kOp>(x, b, U{0}); });
}
template <typename U, bool kBfloat>
void half_update(uint8_t* host, const void* value, void* old) {
  update_element<U>(host, value, old, [](U x, U b) { return add_halves<U, kBfloat>(x, b); });
}

template <typename U, typename T>
ElementUpdate integer_update(AtomicOp op) {
  switch (op) {
    case AtomicOp::kAdd:
      return element_update<U, T, AtomicOp::kAdd>;
    case AtomicOp::kMin:
      return element_update<U, T, AtomicOp::kMin>;
    case AtomicOp::kMax:
      return element_update<U, T, AtomicOp::kMax>;
    case AtomicOp::kInc:
      return element_update<U, T, AtomicOp::kInc>;
    case AtomicOp::kDec:
      return element_update<U, T, AtomicOp::kDec>;
    case AtomicOp::kAnd:
      return element_update<U, T, AtomicOp::kAnd>;
    case AtomicOp::kOr:
      return element_update<U, T, AtomicOp::kOr>;
    case AtomicOp::kXor:
      return element_update<U, T, AtomicOp::kXor>;
    case AtomicOp::kExchange:
      return element_update<U, T, AtomicOp::kExchange>;
    case AtomicOp::kCas:
      break;
  }
  return nullptr;
}

template <typename U, typename T>
AtomicFn integer_atomic(AtomicOp op) {
  switch (op) {
    case AtomicOp::kAdd:
      return atomic_handler<U, T, AtomicOp::kAdd>;
    case AtomicOp::kMin:
      return atomic_handler<U, T, AtomicOp::kMin>;
    case AtomicOp::kMax:
      return atomic_handler<U, T, AtomicOp::kMax>;
    case AtomicOp::kInc:
      return sizeof(U) == 4 ? atomic_handler<U, T, AtomicOp::kInc> : nullptr;
    case AtomicOp::kDec:
      return sizeof(U) == 4 ? atomic_handler<U, T, AtomicOp::kDec> : nullptr;
    case AtomicOp::kAnd:
      return atomic_handler<U, T, AtomicOp::kAnd>;
    case AtomicOp::kOr:
      return atomic_handler<U, T, AtomicOp::kOr>;
    case AtomicOp::kXor:
      return atomic_handler<U, T, AtomicOp::kXor>;
    case AtomicOp::kExchange:
      return atomic_handler<U, T, AtomicOp::kExchange>;
    case AtomicOp::kCas:
      return atomic_handler<U, T, AtomicOp::kCas>;
  }
  return nullptr;
}

}  // namespace

std::optional<AtomicOp> atomic_op_from(std::string_view word) {
  constexpr std::pair<std::string_view, AtomicOp> kWords[] = {
      {"add", AtomicOp::kAdd}, {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax},
      {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor}, {"exch", AtomicOp::kExchange},
      {"cas", AtomicOp::kCas}};
  for (const auto& [name, op] : kWords)
    if (name == word) return op;
  return std::nullopt;
}

AtomicFn find_atomic(AtomicOp op, Type type) {
  const bool adds = op == AtomicOp::kAdd;
  switch (type) {
    case Type::kB32:
    case Type::kU32:
      return integer_atomic<uint32_t, uint32_t>(op);
    case Type::kS32:
      return integer_atomic<uint32_t, int32_t>(op);
    case Type::kB64:
    case Type::kU64:
      return integer_atomic<uint64_t, uint64_t>(op);
    case Type::kS64:
      return integer_atomic<uint64_t, int64_t>(op);
    case Type::kB16:
    case Type::kU16:
      return op == AtomicOp::kCas ? atomic_handler<uint16_t, uint16_t, AtomicOp::kCas> : nullptr;
    case Type::kF32:
      if (op == AtomicOp::kExchange) return integer_atomic<uint32_t, uint32_t>(op);
      return adds ? atomic_handler<uint32_t, float, AtomicOp::kAdd> : nullptr;
    case Type::kF64:
      if (op == AtomicOp::kExchange) return integer_atomic<uint64_t, uint64_t>(op);
      return adds ? atomic_handler<uint64_t, double, AtomicOp::kAdd> : nullptr;
    case Type::kF16:
      return adds ? half_handler<uint16_t, false> : nullptr;
    case Type::kF16x2:
      return adds ? half_handler<uint32_t, false> : nullptr;
    case Type::kBf16:
      return adds ? half_handler<uint16_t, true> : nullptr;
    case Type::kBf16x2:
      return adds ? half_handler<uint32_t, true> : nullptr;
    default:
      return nullptr;
  }
}

ElementUpdate find_element_update(AtomicOp op, Type type) {
  const bool adds = op == AtomicOp::kAdd;
  switch (type) {
    case Type::kB32:
    case Type::kU32:
      return integer_update<uint32_t, uint32_t>(op);
    case Type::kS32:
      return integer_update<uint32_t, int32_t>(op);
    case Type::kB64:
    case Type::kU64:
      return integer_update<uint64_t, uint64_t>(op);
    case Type::kS64:
      return integer_update<uint64_t, int64_t>(op);
    case Type::kF32:
      return adds ? element_update<uint32_t, float, AtomicOp::kAdd> : nullptr;
    case Type::kF64:
      return adds ? element_update<uint64_t, double, AtomicOp::kAdd> : nullptr;
    case Type::kF16:
      return adds ? half_update<uint16_t, false> : nullptr;
    case Type::kF16x2:
      return adds ? half_update<uint32_t, false> : nullptr;
    case Type::kBf16:
      return adds ? half_update<uint16_t, true> : nullptr;
    case Type::kBf16x2:
      return adds ? half_update<uint32_t, true> : nullptr;
    default:
      return nullptr;
  }
}

bool vector_atomic_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const uint32_t bytes = in.mode, count = in.list.uses, step = bytes * count;
  const Ref* refs = warp.frame().code->lists.data() + in.list.first;
  const bool returns = in.list.defs != 0;
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, step, mask, addresses);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    if (addresses.at[lane] % step != 0)
      return warp.fault(FaultKind::kMisalignedAddress, in, lane, "a misaligned atomic");
    uint8_t* host = resolve(warp, in, in.space, lane, addresses.at[lane], step);
    if (host == nullptr) return false;
    for (uint32_t k = 0; k < count; ++k) {
      uint8_t old[8];
      const Ref value = refs[in.list.defs + k];
      in.element(host + k * bytes, warp.lanes<uint8_t>(value) + lane * bytes, old);
      if (returns) std::memcpy(warp.lanes<uint8_t>(refs[k]) + lane * bytes, old, bytes);
    }
  }
  warp.progressed();
  warp.block().traffic().add_lanes(addresses.at, mask, false);
  warp.block().traffic().add_lanes(addresses.at, mask, true);
  return true;
}

}  // namespace gacer::simdevice
