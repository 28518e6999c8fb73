// SPDX-License-Identifier: Apache-2.0
// Warp-wide arithmetic: each row is one fully typed PTX operation on 32 lanes at once.
//
// A register of a warp is an array of 32 equal elements (uint16_t, uint32_t or uint64_t bits); a
// predicate register is one uint32_t with a bit a lane. A row reads whole arrays and writes all 32
// lanes of d; which lanes keep the result is the caller's business. d may be the same array as an
// operand, never a part of one.
//
// Row names are the PTX spelling without what does not change the result (".rn", ".approx"), signs
// dropped where the operation does not see them: "add.b32", "mul.wide.s32", "fma.ftz.f32". The file
// is compiled once per instruction set; lane_table() picks the best one that this machine runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gacer::simdevice {

inline constexpr int kLanes = 32;

using LaneFn = void (*)(void* d, const void* a, const void* b, const void* c, const void* e);
// One bit a lane.
using CompareFn = uint32_t (*)(const void* a, const void* b);

enum class Pipe : uint8_t { kInt, kFp32, kFp64, kSfu };

struct LaneOp {
  const char* name;
  LaneFn fn;
  uint8_t dst_bits;     // 16, 32, 64
  uint8_t src_bits[4];  // 0: unused; 1: predicate mask
  Pipe pipe;
};

struct CompareOp {
  const char* name;  // "lt.s32"
  CompareFn fn;
  uint8_t src_bits;
  Pipe pipe;
};

struct LaneTable {
  const char* isa;
  const LaneOp* ops;
  size_t op_count;
  const CompareOp* compares;
  size_t compare_count;
};

// The table for this machine; GACER_LANES=baseline|avx2|avx512 asks for a lesser one.
const LaneTable& lane_table();
const LaneOp* find_lane_op(const std::string& name);  // nullptr: no such operation
const CompareOp* find_compare_op(const std::string& name);

// One per instruction set that was compiled in; nullptr where the compiler could not.
const LaneTable* lane_table_baseline();
const LaneTable* lane_table_avx2();
const LaneTable* lane_table_avx512();

}  // namespace gacer::simdevice
