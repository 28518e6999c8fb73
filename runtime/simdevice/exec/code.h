// SPDX-License-Identifier: Apache-2.0
// Pre-decoded code: what the lowering makes of a PTX function and the warp runs.
//
//   FunctionCode -> BasicBlock* (ends in one terminator) -> Insn* (straight line)
//
// A Ref names an array of 32 lanes: bank (frame, constants, special registers) and byte offset in
// it. While a function is being lowered a frame Ref holds a virtual register's number;
// allocate_registers() turns it into the offset.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/simdevice/exec/lanes/lane_memory.h"
#include "runtime/simdevice/exec/lanes/lane_ops.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

class Warp;
struct Insn;

enum class Bank : uint32_t { kFrame, kConst, kSpecial };

struct Ref {
  uint32_t bits = kUnused;
  static constexpr uint32_t kUnused = 0;  // frame offset 0: readable, never meant
  static constexpr uint32_t kOffsetBits = 29;
  static constexpr uint32_t kOffsetMask = (1u << kOffsetBits) - 1;
  static constexpr uint32_t kUsedBit = 1u << 31;
  static Ref make(Bank bank, uint32_t offset) {
    return {kUsedBit | static_cast<uint32_t>(bank) << kOffsetBits | offset};
  }
  bool used() const { return (bits & kUsedBit) != 0; }
  Bank bank() const { return static_cast<Bank>((bits >> kOffsetBits) & 3); }
  uint32_t offset() const { return bits & kOffsetMask; }
};

// False: the warp's fault is set.
using Handler = bool (*)(Warp& warp, const Insn& in, uint32_t mask);

// *host = *host op *value, atomically; *old: what was there.
using ElementUpdateFn = void (*)(uint8_t* host, const void* value, void* old);

enum class InsnKind : uint8_t { kLane, kCompare, kHandler };
enum class BoolOp : uint8_t { kNone, kAnd, kOr, kXor };

enum class MemSpace : uint8_t { kGlobal, kShared, kLocal, kParam, kGeneric };

// Registers beyond dst and a..e: FunctionCode::lists[first .. first + defs + uses), results first.
struct RefList {
  uint32_t first = 0;
  uint16_t defs = 0;
  uint16_t uses = 0;
};

// Operations by class on the longest way through a basic block, each after the one before, in units
// of 1 / kChainUnit.
using ChainCounts = std::array<uint32_t, kLatencyCount>;
inline constexpr uint32_t kChainUnit = 16;

struct Insn {
  union {
    LaneFn lane;
    CompareFn compare;
    Handler handler = nullptr;
  };
  Ref dst, dst2, a, b, c, e;
  Ref guard;
  InsnKind kind = InsnKind::kHandler;
  uint8_t dst_bits = 0;  // kLane, for masked writes
  bool guard_negated = false;
  BoolOp bool_op = BoolOp::kNone;  // kCompare: dst = cmp op c
  bool c_negated = false;
  bool wide_address = true;  // memory: the address register has 64 bits
  MemSpace space = MemSpace::kGlobal;
  uint8_t mode = 0;                 // handler's own: shuffle mode, atomic operation, ...
  Latency latency = Latency::kAlu;  // of its result
  bool free_order = false;          // a load that need not wait for earlier stores
  RefList list;
  int64_t imm = 0;  // address offset or other literal
  const MemoryOps* memory = nullptr;
  ElementUpdateFn element = nullptr;  // vector and bulk reductions: see atomics.h
  uint32_t line = 0;                  // of the PTX text
};

enum class Terminator : uint8_t {
  kFall,     // to next
  kBranch,   // lanes with the predicate to target, others to next
  kJump,     // to target
  kExit,     // lanes (with the predicate, if any) end; others to next
  kReturn,   // lanes leave the function
  kCall,     // calls, then next
  kSwitch,   // brx.idx
  kBarrier,  // block barrier, then next
};

inline constexpr uint32_t kNoBlock = ~0u;

struct ParamSlot {
  uint32_t offset = 0, bytes = 0, align = 1;
};

struct CallSite {
  uint32_t function = kNoBlock;  // index, or kNoBlock: indirect through `address`
  Ref address;
  std::vector<ParamSlot> arguments;  // in the caller's frame memory
  std::vector<ParamSlot> returns;
};

// `tensor` counts eighths of an mma.m16n8k16 of halves (matrix_forms.h); the rest are instructions.
struct PipeCounts {
  uint32_t fp32 = 0, fp64 = 0, integer = 0, sfu = 0, tensor = 0, memory = 0, shared = 0,
           barrier = 0, atomics = 0;
  uint32_t global_loads = 0;
  uint32_t shared_beats = 0;  // of 128 bytes, without conflicts
};

struct BasicBlock {
  uint32_t first = 0, count = 0;  // instructions
  Terminator term = Terminator::kFall;
  bool negated = false;
  bool red_negated = false;  // kBarrier
  uint32_t target = kNoBlock;
  uint32_t next = kNoBlock;
  uint32_t rejoin = kNoBlock;  // immediate post-dominator
  Ref predicate;               // kBranch, kExit; the reduced predicate of bar.red
  Ref index;                   // kSwitch; kBarrier: barrier number
  Ref threads;                 // kBarrier: thread count if given
  Ref dst;                     // kBarrier: result of bar.red
  uint8_t mode = 0;            // kBarrier: BarrierMode
  uint32_t site = 0;           // kCall: call site; kSwitch: target list
  uint32_t issued = 0;         // instructions incl. the terminator
  uint32_t line = 0;
  PipeCounts pipes;
  ChainCounts chain{};  // find_chains()
  uint32_t clocks = 0;  // the chain at nominal latencies
};

enum class BarrierMode : uint8_t {
  kSync,
  kArrive,
  kRedAnd,
  kRedOr,
  kRedPopc,
  kClusterArrive,
  kClusterWait
};
// Number under which warps wait for the cluster; the block's own barriers are 0 to 15.
inline constexpr uint32_t kClusterBarrier = 16;

struct FunctionCode {
  std::string name;
  std::vector<BasicBlock> blocks;
  std::vector<Insn> insns;
  std::vector<Ref> lists;
  std::vector<CallSite> sites;
  std::vector<std::vector<uint32_t>> switches;
  // Lowering only: width of each virtual register in bits (1: predicate).
  std::vector<uint8_t> reg_bits;
  uint32_t frame_bytes = 64;  // registers of one warp
  std::vector<uint32_t>
      cleared;  // offsets of registers that may be read before written, with their sizes
  std::vector<uint32_t> cleared_bytes;
  uint32_t local_bytes = 0;    // local and param memory of one thread
  uint32_t live_regs = 0;      // greatest number of live 32-bit registers
  uint32_t first_counter = 0;  // of the program's block counters
  bool is_entry = false;
  bool defined = false;
  std::vector<ParamSlot> params;  // entry: in the parameter buffer; function: in its frame memory
  std::vector<ParamSlot> returns;
};

// All functions of a module and what they share.
struct ProgramCode {
  std::vector<FunctionCode> functions;
  uint32_t counter_count = 0;  // basic blocks of all functions
  uint64_t special_used = 0;   // bit n: special register n is read somewhere
  std::vector<uint64_t>
      pool;  // constants, each broadcast to 32 lanes; offsets are bytes / 64-aligned
};

// Values in 64-bit registers that stand for functions (function pointers): tag | index.
inline constexpr uint64_t kFunctionTag = 0x7f00'0000'0000'0000ULL;

// Virtual registers that `in` reads and writes: f(Ref&, is_write).
template <typename F>
void for_each_ref(FunctionCode& fn, Insn& in, F f) {
  for (Ref* r : {&in.a, &in.b, &in.c, &in.e, &in.guard})
    if (r->used()) f(*r, false);
  for (uint32_t i = 0; i < in.list.uses; ++i) f(fn.lists[in.list.first + in.list.defs + i], false);
  for (Ref* r : {&in.dst, &in.dst2})
    if (r->used()) f(*r, true);
  for (uint32_t i = 0; i < in.list.defs; ++i) f(fn.lists[in.list.first + i], true);
}
template <typename F>
void for_each_ref(FunctionCode& fn, BasicBlock& block, F f) {
  for (Ref* r : {&block.predicate, &block.index, &block.threads})
    if (r->used()) f(*r, false);
  if (block.term == Terminator::kCall && fn.sites[block.site].address.used())
    f(fn.sites[block.site].address, false);
  if (block.dst.used()) f(block.dst, true);
}

}  // namespace gacer::simdevice
