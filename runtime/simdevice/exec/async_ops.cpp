// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/async_ops.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "runtime/simdevice/exec/cluster.h"
#include "runtime/simdevice/exec/memory_access.h"

namespace gacer::simdevice {
namespace {

constexpr uint32_t kMostBulkBytes = 1u << 20;

// The 64 bits that the ISA leaves to the machine. Blocks that can reach one run on one thread.
struct Mbarrier {
  static constexpr uint32_t kMostCount = (1u << 20) - 1;
  uint32_t pending = 0;   // arrivals until the phase is complete
  uint32_t expected = 0;  // arrivals of the next phase
  int32_t bytes = 0;      // that are still to come
  bool phase = false;

  static Mbarrier from(uint64_t bits) {
    return {static_cast<uint32_t>(bits & kMostCount),
            static_cast<uint32_t>(bits >> 20 & kMostCount),
            static_cast<int32_t>(bits >> 40 & 0x1fffff) - (1 << 20), (bits >> 63) != 0};
  }
  uint64_t bits() const {
    const auto biased = static_cast<uint32_t>(bytes + (1 << 20)) & 0x1fffffu;
    return pending | uint64_t{expected} << 20 | uint64_t{biased} << 40 | uint64_t{phase} << 63;
  }
  void arrive(uint32_t count) { pending -= std::min(count, pending); }
  void drop(uint32_t count) { expected -= std::min(count, expected); }
  void complete_if_done() {
    if (pending != 0 || bytes != 0) return;
    phase = !phase;
    pending = expected;
  }
};

uint64_t word(Warp& warp, Ref ref, uint32_t lane) {
  return warp.lanes<uint64_t>(ref)[lane];
}

// nullptr: a fault is set.
uint8_t* place_of(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address) {
  if (address % 8 != 0) {
    warp.fault(FaultKind::kMisalignedAddress, in, lane, "a misaligned mbarrier");
    return nullptr;
  }
  return resolve(warp, in, space, lane, address, 8);
}

Mbarrier read(const uint8_t* place) {
  uint64_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return Mbarrier::from(bits);
}
void write(uint8_t* place, const Mbarrier& barrier) {
  const uint64_t bits = barrier.bits();
  std::memcpy(place, &bits, sizeof bits);
}

void apply(Mbarrier& barrier, MbarrierOp op, uint32_t value) {
  const auto bytes = static_cast<int32_t>(value);
  switch (op) {
    case MbarrierOp::kInit:
      barrier = {value & Mbarrier::kMostCount, value & Mbarrier::kMostCount, 0, false};
      return;
    case MbarrierOp::kInvalidate:
      barrier = {};
      return;
    case MbarrierOp::kExpect:
      barrier.bytes += bytes;
      return;
    case MbarrierOp::kComplete:
      barrier.bytes -= bytes;
      break;
    case MbarrierOp::kArrive:
      barrier.arrive(value);
      break;
    case MbarrierOp::kArriveExpect:
      barrier.bytes += bytes;
      barrier.arrive(1);
      break;
    case MbarrierOp::kDrop:
      barrier.drop(value);
      barrier.arrive(value);
      break;
    case MbarrierOp::kDropExpect:
      barrier.bytes += bytes;
      barrier.drop(1);
      barrier.arrive(1);
      break;
    case MbarrierOp::kTest:
    case MbarrierOp::kTestParity:
      return;
  }
  barrier.complete_if_done();
}

bool is_test(MbarrierOp op) {
  return op == MbarrierOp::kTest || op == MbarrierOp::kTestParity;
}

bool phase_is_over(const Mbarrier& barrier, MbarrierOp op, uint64_t value) {
  const bool awaited =
      op == MbarrierOp::kTestParity ? (value & 1) != 0 : Mbarrier::from(value).phase;
  return barrier.phase != awaited;
}

// list: address, value (if the operation has one).
bool one_lane(Warp& warp, const Insn& in, uint32_t lane, uint32_t& over) {
  const Ref* list = warp.frame().code->lists.data() + in.list.first;
  const auto op = static_cast<MbarrierOp>(in.mode);
  uint8_t* place = place_of(warp, in, in.space, lane, word(warp, list[0], lane));
  if (place == nullptr) return false;
  const uint64_t value = in.list.uses > 1 ? word(warp, list[1], lane) : 0;
  Mbarrier barrier = read(place);
  if (is_test(op)) {
    over |= static_cast<uint32_t>(phase_is_over(barrier, op, value)) << lane;
    return true;
  }
  if (in.dst.used()) warp.lanes<uint64_t>(in.dst)[lane] = barrier.bits();
  apply(barrier, op, static_cast<uint32_t>(value));
  write(place, barrier);
  return true;
}

}  // namespace

bool mbarrier_handler(Warp& warp, const Insn& in, uint32_t mask) {
  uint32_t over = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1)
    if (!one_lane(warp, in, static_cast<uint32_t>(std::countr_zero(m)), over)) return false;
  if (!is_test(static_cast<MbarrierOp>(in.mode))) {
    warp.progressed();
    return true;
  }
  uint32_t* d = warp.lanes<uint32_t>(in.dst);
  *d = (*d & ~mask) | (over & mask);
  if (over == 0) {
    warp.polled(reinterpret_cast<uintptr_t>(&in));
  } else {
    warp.progressed();
  }
  return true;
}

bool pending_count_handler(Warp& warp, const Insn& in, uint32_t mask) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    warp.lanes<uint32_t>(in.dst)[lane] = Mbarrier::from(word(warp, in.a, lane)).pending;
  }
  return true;
}

namespace {

struct BulkCopy {
  uint64_t to = 0, from = 0, mbarrier = 0;
  uint32_t bytes = 0;
  uint32_t blocks = 0;       // multicast: ranks
  uint32_t byte_mask = ~0u;  // of each 16
};

BulkCopy read_operands(Warp& warp, const Insn& in, uint32_t lane) {
  const Ref* list = warp.frame().code->lists.data() + in.list.first;
  BulkCopy copy;
  copy.to = word(warp, *list++, lane);
  copy.from = word(warp, *list++, lane);
  copy.bytes = static_cast<uint32_t>(word(warp, *list++, lane));
  if ((in.mode & kBulkMbarrier) != 0) copy.mbarrier = word(warp, *list++, lane);
  if ((in.mode & kBulkMulticast) != 0)
    copy.blocks = static_cast<uint32_t>(word(warp, *list++, lane));
  if ((in.mode & kBulkByteMask) != 0)
    copy.byte_mask = static_cast<uint32_t>(word(warp, *list++, lane)) & 0xffffu;
  return copy;
}

bool store(Warp& warp, const Insn& in, uint32_t lane, uint64_t to, const BulkCopy& copy,
           const std::vector<uint8_t>& data) {
  const MemSpace space = (in.mode & kBulkToShared) != 0 ? MemSpace::kShared : MemSpace::kGlobal;
  uint8_t* host = resolve(warp, in, space, lane, to, copy.bytes);
  if (host == nullptr) return false;
  if (space == MemSpace::kGlobal) warp.block().traffic().add_range(to, copy.bytes, true);
  const auto element = static_cast<uint32_t>(in.imm);
  if ((in.mode & kBulkReduce) != 0) {
    uint8_t old[8];
    for (uint32_t i = 0; i + element <= copy.bytes; i += element)
      in.element(host + i, &data[i], old);
  } else if ((in.mode & kBulkByteMask) != 0) {
    for (uint32_t i = 0; i < copy.bytes; ++i)
      if ((copy.byte_mask >> (i % 16) & 1u) != 0) host[i] = data[i];
  } else {
    std::memcpy(host, data.data(), copy.bytes);
  }
  return true;
}

bool tell(Warp& warp, const Insn& in, uint32_t lane, uint64_t mbarrier, uint32_t bytes) {
  uint8_t* place = place_of(warp, in, MemSpace::kShared, lane, mbarrier);
  if (place == nullptr) return false;
  Mbarrier barrier = read(place);
  apply(barrier, MbarrierOp::kComplete, bytes);
  write(place, barrier);
  return true;
}

bool copy_one(Warp& warp, const Insn& in, uint32_t lane, const BulkCopy& copy) {
  if ((copy.to | copy.from | copy.bytes) % 16 != 0)
    return warp.fault(FaultKind::kMisalignedAddress, in, lane,
                      "a bulk copy whose addresses or size are no multiples of 16");
  if (copy.bytes == 0) return true;
  if (copy.bytes > kMostBulkBytes)
    return warp.fault(FaultKind::kIllegalAddress, in, lane, "a bulk copy of more than 1 MiB");
  const MemSpace space = (in.mode & kBulkFromShared) != 0 ? MemSpace::kShared : MemSpace::kGlobal;
  std::vector<uint8_t> data(copy.bytes);
  if (!read_bytes(warp, in, space, lane, copy.from, data.data(), copy.bytes)) return false;
  if ((in.mode & kBulkMulticast) == 0)
    return store(warp, in, lane, copy.to, copy, data) &&
           ((in.mode & kBulkMbarrier) == 0 || tell(warp, in, lane, copy.mbarrier, copy.bytes));
  for (uint32_t left = copy.blocks & ((1u << warp.block().cluster().size()) - 1); left != 0;
       left &= left - 1) {
    const uint64_t shift = (static_cast<uint64_t>(std::countr_zero(left)) + 1) * kClusterStride;
    if (!store(warp, in, lane, copy.to % kClusterStride + shift, copy, data) ||
        !tell(warp, in, lane, copy.mbarrier % kClusterStride + shift, copy.bytes))
      return false;
  }
  return true;
}

}  // namespace

bool bulk_copy_handler(Warp& warp, const Insn& in, uint32_t mask) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    if (!copy_one(warp, in, lane, read_operands(warp, in, lane))) return false;
  }
  warp.progressed();
  return true;
}

namespace {

// Of address register `a`, generic or in the shared window; its offset in the window.
uint64_t shared_offset(Warp& warp, const Insn& in, uint32_t lane) {
  const uint64_t a =
      (in.mode & 2) != 0 ? warp.lanes<uint64_t>(in.a)[lane] : warp.lanes<uint32_t>(in.a)[lane];
  return (in.mode & 1) != 0 ? a - kSharedWindow : a;
}

void put(Warp& warp, const Insn& in, uint32_t lane, uint64_t value) {
  if ((in.mode & 2) != 0) {
    warp.lanes<uint64_t>(in.dst)[lane] = value;
  } else {
    warp.lanes<uint32_t>(in.dst)[lane] = static_cast<uint32_t>(value);
  }
}

}  // namespace

bool map_address_handler(Warp& warp, const Insn& in, uint32_t mask) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t rank = warp.lanes<uint32_t>(in.b)[lane];
    const uint64_t offset = shared_offset(warp, in, lane) % kClusterStride;
    const uint64_t mapped = offset + (rank % 128 + 1) * kClusterStride;
    put(warp, in, lane, (in.mode & 1) != 0 ? kSharedWindow + mapped : mapped);
  }
  return true;
}

bool rank_of_address_handler(Warp& warp, const Insn& in, uint32_t mask) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t offset = shared_offset(warp, in, lane);
    const uint64_t rank =
        offset < kClusterStride ? warp.block().rank() : offset / kClusterStride - 1;
    warp.lanes<uint32_t>(in.dst)[lane] = static_cast<uint32_t>(rank);
  }
  return true;
}

}  // namespace gacer::simdevice
