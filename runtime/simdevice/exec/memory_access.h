// SPDX-License-Identifier: Apache-2.0
// Loads, stores and address queries of a warp: from register lanes to host bytes, with bounds,
// alignment and traffic. Handlers have the type of code.h; false means a fault is set.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

// a: address register, imm: offset, list: data registers, memory: element, space.
bool load_handler(Warp& warp, const Insn& in, uint32_t mask);
// The same for loads that see what other threads write: a loop that only does these waits.
bool strong_load_handler(Warp& warp, const Insn& in, uint32_t mask);
bool store_handler(Warp& warp, const Insn& in, uint32_t mask);
// Checks and counts like a load, moves nothing further (prefetch and the like need no handler at
// all).

// Addresses of the lanes of one access.
struct LaneAddresses {
  alignas(64) uint64_t at[kLanes];
  AddressSummary summary;
};
void lane_addresses(Warp& warp, Ref base, bool wide, int64_t offset, uint32_t step, uint32_t mask,
                    LaneAddresses& out);

// Host bytes behind one lane's address; nullptr: a fault is set. Not for local memory, whose words
// interleave.
uint8_t* resolve(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                 uint32_t bytes);
// Any space, any size: false when a fault was set.
bool read_bytes(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                uint8_t* to, uint32_t bytes);
bool write_bytes(Warp& warp, const Insn& in, MemSpace space, uint32_t lane, uint64_t address,
                 const uint8_t* from, uint32_t bytes);
// Which space a generic address is in; `address` becomes the address within it.
MemSpace narrow(uint64_t& address);

// dst = address of frame memory at imm (wide: 64-bit register).
bool local_address_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
