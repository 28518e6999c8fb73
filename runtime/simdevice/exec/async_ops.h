// SPDX-License-Identifier: Apache-2.0
// Handlers of mbarriers, bulk copies and cluster addresses. Copies are done at once, which is one
// of the orders that the ISA allows: whoever waits for them finds them complete. Addresses are
// 64-bit registers in the instruction's list; Insn::space: of the mbarrier.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

enum class MbarrierOp : uint8_t {
  kInit,          // list: address, count
  kInvalidate,    // list: address
  kExpect,        // list: address, bytes
  kComplete,      // list: address, bytes
  kArrive,        // list: address, count; dst: state if used
  kArriveExpect,  // list: address, bytes; dst: state if used
  kDrop,          // list: address, count; dst: state if used
  kDropExpect,    // list: address, bytes; dst: state if used
  kTest,          // list: address, state; dst: predicate
  kTestParity     // list: address, parity; dst: predicate
};
// mode: MbarrierOp.
bool mbarrier_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = pending count in state a.
bool pending_count_handler(Warp& warp, const Insn& in, uint32_t mask);

// What cp.async.bulk and cp.reduce.async.bulk do; bits of Insn::mode.
inline constexpr uint8_t kBulkToShared = 1;    // else to global memory
inline constexpr uint8_t kBulkFromShared = 2;  // else from global memory
inline constexpr uint8_t kBulkMbarrier =
    4;  // list: dst, src, bytes, mbarrier; else: dst, src, bytes
inline constexpr uint8_t kBulkMulticast = 8;  // the list goes on with a mask of blocks
inline constexpr uint8_t kBulkReduce = 16;    // by Insn::element on elements of Insn::imm bytes
inline constexpr uint8_t kBulkByteMask = 32;  // the list goes on with a mask of bytes of 16
bool bulk_copy_handler(Warp& warp, const Insn& in, uint32_t mask);

// dst = address a as block b of the cluster sees it. mode bit 0: generic, bit 1: 64-bit.
bool map_address_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = rank of the block that address a belongs to. mode as above.
bool rank_of_address_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
