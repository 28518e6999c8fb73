// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/memory_access.h"

#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/cluster.h"
#include "runtime/simdevice/exec/device_heap.h"

namespace gacer::simdevice {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool illegal(Warp& warp, const Insn& in, uint32_t lane, uint64_t address, uint32_t bytes,
             const char* where) {
  return warp.fault(
      FaultKind::kIllegalAddress, in, lane,
      "address " + hex(address) + " (" + std::to_string(bytes) + " bytes) is outside " + where);
}

// Host memory that holds all lanes of an access: host byte of address a is host[a - base].
struct Window {
  uint8_t* host = nullptr;
  uint64_t base = 0;
};

bool inside(uint64_t least, uint64_t greatest, uint64_t step, uint64_t limit) {
  return greatest >= least && limit >= step && greatest <= limit - step;
}

// host == nullptr: no single window, or out of bounds: go lane by lane.
Window window_of(Warp& warp, MemSpace space, const AddressSummary& s, uint64_t step) {
  BlockRun& block = warp.block();
  if (space == MemSpace::kGlobal) {
    const MemoryRegion* region =
        block.launch().memory->find(s.least, s.greatest - s.least + step, block.region_hint());
    return region == nullptr ? Window{} : Window{region->host, region->base};
  }
  if (space == MemSpace::kShared && inside(s.least, s.greatest, step, block.shared_bytes()))
    return {block.shared().data(), 0};
  if (space == MemSpace::kParam &&
      inside(s.least, s.greatest, step, block.launch().info->param_bytes))
    return {const_cast<uint8_t*>(block.launch().params), 0};
  return {};
}

// A generic access whose lanes all fall in one window becomes one of that space.
MemSpace narrow_all(LaneAddresses& addresses) {
  uint64_t least = addresses.summary.least, greatest = addresses.summary.greatest;
  const MemSpace low = narrow(least), high = narrow(greatest);
  if (low != high || (low == MemSpace::kGlobal && addresses.summary.least < kSharedWindow &&
                      greatest >= kLocalWindow + kWindowBytes))
    return MemSpace::kGeneric;
  const uint64_t shift = addresses.summary.least - least;
  if (shift != 0) {
    for (uint64_t& a : addresses.at) a -= shift;
    addresses.summary.least = least;
    addresses.summary.greatest = greatest;
    addresses.summary.origin -= shift;
  }
  return low;
}

void count_traffic(Warp& warp, const LaneAddresses& addresses, uint32_t mask, uint32_t step,
                   bool is_write) {
  TrafficMeter& traffic = warp.block().traffic();
  const AddressSummary& s = addresses.summary;
  if (s.least == s.greatest ||
      (s.contiguous && s.greatest - s.least == (std::popcount(mask) - 1u) * uint64_t{step})) {
    traffic.add_range(s.least, s.greatest - s.least + step, is_write);
  } else {
    traffic.add_lanes(addresses.at, mask, is_write);
  }
}

// What a launch has beside its allocations: the workspace of cooperative groups, the heap.
uint8_t* launch_memory(BlockRun& block, uint64_t address, uint64_t bytes) {
  const LaunchContext& launch = block.launch();
  const uint64_t offset = address - kGridWindow;
  if (launch.workspace != nullptr && inside(offset, offset, bytes, kGridWorkspaceBytes))
    return launch.workspace + offset;
  return launch.heap == nullptr ? nullptr : launch.heap->find(address, bytes);
}

// Whose shared memory an address is in; it becomes the address within it.
BlockRun* shared_owner(BlockRun& block, uint64_t& address) {
  if (address < kClusterStride) return &block;
  const uint64_t rank = address / kClusterStride - 1;
  address %= kClusterStride;
  return rank < block.cluster().size() ? &block.cluster().block(static_cast<uint32_t>(rank))
                                       : nullptr;
}

bool check_alignment(Warp& warp, const Insn& in, const LaneAddresses& addresses, uint32_t mask,
                     uint32_t step) {
  if ((addresses.summary.or_all & (step - 1)) == 0) return true;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    if ((addresses.at[lane] & (step - 1)) != 0)
      return warp.fault(FaultKind::kMisalignedAddress, in, lane,
                        "address " + hex(addresses.at[lane]) + " is not aligned to " +
                            std::to_string(step) + " bytes");
  }
  return true;
}

// Lane by lane, any space.
bool move_slowly(Warp& warp, const Insn& in, MemSpace space, const LaneAddresses& addresses,
                 uint32_t mask, const Ref* data, uint32_t count, bool is_store) {
  const MemoryOps& op = *in.memory;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    for (uint32_t k = 0; k < count; ++k) {
      uint8_t bytes[8];
      const uint64_t at = addresses.at[lane] + uint64_t{k} * op.bytes;
      if (is_store) {
        op.store_one(warp.lanes<void>(data[k]), static_cast<int>(lane), bytes);
        if (!write_bytes(warp, in, space, lane, at, bytes, op.bytes)) return false;
      } else {
        if (!read_bytes(warp, in, space, lane, at, bytes, op.bytes)) return false;
        op.load_one(warp.lanes<void>(data[k]), static_cast<int>(lane), bytes);
      }
    }
  }
  return true;
}

// The same local offset in all lanes: their words lie side by side.
bool local_row(Warp& warp, const Insn& in, const LaneAddresses& addresses, uint32_t mask,
               const Ref* data, uint32_t count, bool is_store) {
  const MemoryOps& op = *in.memory;
  const AddressSummary& s = addresses.summary;
  if (mask != ~0u || s.least != s.greatest || op.bytes != 4 ||
      !inside(s.least, s.least, 4 * count, warp.local_bytes()))
    return false;
  for (uint32_t k = 0; k < count; ++k) {
    uint8_t* row = warp.local_word(s.least + 4 * k, 0);
    if (is_store) {
      op.store_strided(warp.lanes<void>(data[k]), row, 4);
    } else {
      op.load_strided(warp.lanes<void>(data[k]), row, 4);
    }
  }
  return true;
}

void load_window(Warp& warp, const Insn& in, const Window& window, const LaneAddresses& addresses,
                 uint32_t mask, const Ref* data, uint32_t count) {
  const MemoryOps& op = *in.memory;
  const AddressSummary& s = addresses.summary;
  const bool whole = mask == ~0u;
  for (uint32_t k = 0; k < count; ++k) {
    void* d = warp.lanes<void>(data[k]);
    uint8_t* host = window.host + k * op.bytes;
    if (whole && s.contiguous) {
      op.load_strided(d, host + (s.origin - window.base), uint64_t{op.bytes} * count);
    } else if (s.least == s.greatest && (warp.live() & ~mask) == 0) {
      op.load_same(d, host + (s.least - window.base));
    } else {
      op.load_indexed(d, host, window.base, addresses.at, mask);
    }
  }
}

void store_window(Warp& warp, const Insn& in, const Window& window, const LaneAddresses& addresses,
                  uint32_t mask, const Ref* data, uint32_t count) {
  const MemoryOps& op = *in.memory;
  const AddressSummary& s = addresses.summary;
  for (uint32_t k = 0; k < count; ++k) {
    const void* from = warp.lanes<void>(data[k]);
    uint8_t* host = window.host + k * op.bytes;
    if (mask == ~0u && s.contiguous) {
      op.store_strided(from, host + (s.origin - window.base), uint64_t{op.bytes} * count);
    } else {
      op.store_indexed(from, host, window.base, addresses.at, mask);
    }
  }
}

bool access(Warp& warp, const Insn& in, uint32_t mask, uint32_t count, bool is_store) {
  const uint32_t step = in.memory->bytes * count;
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, step, mask, addresses);
  if (!check_alignment(warp, in, addresses, mask, step)) return false;
  MemSpace space = in.space;
  if (space == MemSpace::kGeneric) space = narrow_all(addresses);
  const Ref* data = warp.frame().code->lists.data() + in.list.first;
  if (space == MemSpace::kLocal && local_row(warp, in, addresses, mask, data, count, is_store))
    return true;
  const Window window = window_of(warp, space, addresses.summary, step);
  if (window.host == nullptr || (is_store && space == MemSpace::kParam))
    return move_slowly(warp, in, space, addresses, mask, data, count, is_store);
  if (space == MemSpace::kGlobal) count_traffic(warp, addresses, mask, step, is_store);
  if (is_store) {
    store_window(warp, in, window, addresses, mask, data, count);
  } else {
    load_window(warp, in, window, addresses, mask, data, count);
  }
  return true;
}

}  // namespace

void lane_addresses(Warp& warp, Ref base, bool wide, int64_t offset, uint32_t step, uint32_t mask,
                    LaneAddresses& out) {
  const MemoryTable& table = warp.memory();
  (wide ? table.summarise64 : table.summarise32)(warp.lanes<void>(base), offset, step, mask, out.at,
                                                 &out.summary);
}

MemSpace narrow(uint64_t& address) {
  if (address - kSharedWindow < kWindowBytes) {
    const bool is_param = address >= kParamWindow;
    address -= is_param ? kParamWindow : kSharedWindow;
    return is_param ? MemSpace::kParam : MemSpace::kShared;
  }
  if (address - kLocalWindow < kWindowBytes) {
    address -= kLocalWindow;
    return MemSpace::kLocal;
  }
  return MemSpace::kGlobal;
}

uint8_t* resolve(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                 uint32_t bytes) {
  BlockRun& block = warp.block();
  if (space == MemSpace::kGeneric) space = narrow(address);
  if (space == MemSpace::kGlobal) {
    const MemoryRegion* region = block.launch().memory->find(address, bytes, block.region_hint());
    if (region != nullptr) return region->host + (address - region->base);
    if (uint8_t* own = launch_memory(block, address, bytes); own != nullptr) return own;
    illegal(warp, in, lane, address, bytes, "every allocation");
  } else if (space == MemSpace::kShared) {
    BlockRun* owner = shared_owner(block, address);
    if (owner != nullptr && inside(address, address, bytes, owner->shared_bytes()))
      return owner->shared().data() + address;
    illegal(warp, in, lane, address, bytes, "the block's shared memory");
  } else if (space == MemSpace::kParam) {
    if (inside(address, address, bytes, block.launch().info->param_bytes))
      return const_cast<uint8_t*>(block.launch().params) + address;
    illegal(warp, in, lane, address, bytes, "the kernel's parameters");
  } else {
    illegal(warp, in, lane, address, bytes, "what this operation may touch");
  }
  return nullptr;
}

bool read_bytes(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                uint8_t* to, uint32_t bytes) {
  if (space == MemSpace::kGeneric) space = narrow(address);
  if (space != MemSpace::kLocal) {
    const uint8_t* from = resolve(warp, in, space, lane, address, bytes);
    if (from == nullptr) return false;
    std::memcpy(to, from, bytes);
    if (space == MemSpace::kGlobal) warp.block().traffic().add_range(address, bytes, false);
    return true;
  }
  if (!inside(address, address, bytes, warp.local_bytes()))
    return illegal(warp, in, lane, address, bytes, "the thread's local memory");
  for (uint32_t i = 0; i < bytes; ++i) to[i] = *warp.local_word(address + i, lane);
  return true;
}

bool write_bytes(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                 const uint8_t* from, uint32_t bytes) {
  if (space == MemSpace::kGeneric) space = narrow(address);
  if (space == MemSpace::kParam)
    return illegal(warp, in, lane, address, bytes, "writable memory (kernel parameters are not)");
  if (space != MemSpace::kLocal) {
    uint8_t* to = resolve(warp, in, space, lane, address, bytes);
    if (to == nullptr) return false;
    std::memcpy(to, from, bytes);
    if (space == MemSpace::kGlobal) warp.block().traffic().add_range(address, bytes, true);
    return true;
  }
  if (!inside(address, address, bytes, warp.local_bytes()))
    return illegal(warp, in, lane, address, bytes, "the thread's local memory");
  for (uint32_t i = 0; i < bytes; ++i) *warp.local_word(address + i, lane) = from[i];
  return true;
}

bool load_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return access(warp, in, mask, in.list.defs, false);
}
bool strong_load_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!access(warp, in, mask, in.list.defs, false)) return false;
  const Ref data = warp.frame().code->lists[in.list.first];
  const bool wide = in.memory->reg_bits == 64, narrow16 = in.memory->reg_bits == 16;
  uint64_t state = reinterpret_cast<uintptr_t>(&in);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint64_t at =
        in.wide_address ? warp.lanes<uint64_t>(in.a)[lane] : warp.lanes<uint32_t>(in.a)[lane];
    const uint64_t value = wide       ? warp.lanes<uint64_t>(data)[lane]
                           : narrow16 ? warp.lanes<uint16_t>(data)[lane]
                                      : warp.lanes<uint32_t>(data)[lane];
    state = (state ^ at ^ value << 20) * 0x9e3779b97f4a7c15ULL;
  }
  warp.polled(state);
  return true;
}
bool store_handler(Warp& warp, const Insn& in, uint32_t mask) {
  warp.progressed();
  return access(warp, in, mask, in.list.uses, true);
}

bool local_address_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const uint64_t address = static_cast<uint64_t>(in.imm) + warp.frame().local;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (in.wide_address) {
      warp.lanes<uint64_t>(in.dst)[lane] = address;
    } else {
      warp.lanes<uint32_t>(in.dst)[lane] = static_cast<uint32_t>(address);
    }
  }
  return true;
}

}  // namespace gacer::simdevice
