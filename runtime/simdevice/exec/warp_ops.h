// SPDX-License-Identifier: Apache-2.0
// Handlers of instructions that look across lanes or at the machine: shuffles, votes, matches,
// clocks. Type and meaning of the result as in code.h.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

// dst = (a ^ mode bit 0) op (b ^ mode bit 1), all predicates.
bool predicate_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = the Special in `mode`.
bool clock_handler(Warp& warp, const Insn& in, uint32_t mask);
// Lets a nanoseconds pass.
bool sleep_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = whether generic address a is in `space`.
bool isspace_handler(Warp& warp, const Insn& in, uint32_t mask);

enum class ShuffleMode : uint8_t { kUp, kDown, kButterfly, kIndex };
// dst|dst2 = a of lane f(b, c); e: member mask, unused for the old form.
bool shuffle_handler(Warp& warp, const Insn& in, uint32_t mask);

enum class VoteMode : uint8_t { kAll, kAny, kUniform, kBallot };
// dst = vote over predicate a (c_negated: its complement); e: member mask.
bool vote_handler(Warp& warp, const Insn& in, uint32_t mask);
// mode 0: any, 1: all, +2: 64-bit a. dst: mask, dst2: predicate; e: member mask.
bool match_handler(Warp& warp, const Insn& in, uint32_t mask);

enum class ReduxOp : uint8_t { kAdd, kMinU, kMaxU, kMinS, kMaxS, kAnd, kOr, kXor };
bool redux_handler(Warp& warp, const Insn& in, uint32_t mask);
bool activemask_handler(Warp& warp, const Insn& in, uint32_t mask);
// Waits for the lanes of member mask e.
bool warp_barrier_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = lowest member, dst2 = "I am it".
bool elect_handler(Warp& warp, const Insn& in, uint32_t mask);

// cp.async: a + imm: shared destination, b + lane of e: global source, c: bytes read, mode: bytes |
// 0x80.
bool copy_async_handler(Warp& warp, const Insn& in, uint32_t mask);
// Orders memory accesses of this thread's blocks before and after it.
bool fence_handler(Warp& warp, const Insn& in, uint32_t mask);
bool trap_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
