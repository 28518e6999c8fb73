// SPDX-License-Identifier: Apache-2.0
// Warp-wide address arithmetic and the movement of elements between memory and lanes: pure
// functions over host pointers that some instruction set does best. Bounds are the caller's
// business.
#pragma once

#include <cstdint>

namespace gacer::simdevice {

struct AddressSummary {
  uint64_t least = 0, greatest = 0;  // of the active lanes
  uint64_t or_all = 0;               // of the active lanes: its bits below `step` show misalignment
  bool contiguous = false;           // active lane i is at first + i * step
  uint64_t origin = 0;               // contiguous: where lane 0 is or would be
};

// at[i] = register lane i + offset, for all lanes; the summary is of the lanes in `mask` (not 0).
// `step` is a power of two.
using SummariseFn = void (*)(const void* reg, int64_t offset, uint32_t step, uint32_t mask,
                             uint64_t* at, AddressSummary* summary);

// Element types in memory and in registers: one row for each pair that PTX allows.
struct MemoryOps {
  uint8_t bytes;     // in memory
  bool sign;         // extended when the register is wider
  uint8_t reg_bits;  // 16, 32, 64
  // d[i] = src[i * stride]
  void (*load_strided)(void* d, const uint8_t* src, uint64_t stride);
  void (*load_same)(void* d, const uint8_t* src);
  // d[i] = *(host + (address[i] - base)) for lanes in mask; other lanes may change too
  void (*load_indexed)(void* d, const uint8_t* host, uint64_t base, const uint64_t* address,
                       uint32_t mask);
  void (*store_strided)(const void* s, uint8_t* dst, uint64_t stride);
  void (*store_indexed)(const void* s, uint8_t* host, uint64_t base, const uint64_t* address,
                        uint32_t mask);
  void (*load_one)(void* d, int lane, const uint8_t* src);
  void (*store_one)(const void* s, int lane, uint8_t* dst);
};

struct MemoryTable {
  SummariseFn summarise32;  // 32-bit address registers
  SummariseFn summarise64;
  void (*blend16)(void* d, const void* s, uint32_t mask);  // d[i] = s[i] where the mask has a bit
  void (*blend32)(void* d, const void* s, uint32_t mask);
  void (*blend64)(void* d, const void* s, uint32_t mask);
  const MemoryOps* ops;
  uint32_t op_count;
};

const MemoryTable& memory_table();
const MemoryTable* memory_table_baseline();
const MemoryTable* memory_table_avx2();
const MemoryTable* memory_table_avx512();
// nullptr: no such pair.
const MemoryOps* find_memory_ops(uint32_t bytes, bool sign, uint32_t reg_bits);

}  // namespace gacer::simdevice
