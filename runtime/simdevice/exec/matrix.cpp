// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/matrix.h"

#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

bool whole_warp(Warp& warp, const Insn& in, uint32_t mask) {
  if (mask == ~0u) return true;
  return warp.fault(FaultKind::kUnsupported, in, static_cast<uint32_t>(std::countr_zero(mask)),
                    "a matrix instruction needs all 32 lanes of the warp");
}

constexpr uint32_t kRowBytes = 16;

// Where element j (0, 1) of a lane's register lies in its 8x8 matrix.
uint32_t element_row(uint32_t lane, uint32_t j, bool transposed) {
  return transposed ? lane % 4 * 2 + j : lane / 4;
}
uint32_t element_column(uint32_t lane, uint32_t j, bool transposed) {
  return transposed ? lane / 4 : lane % 4 * 2 + j;
}

}  // namespace

bool mma_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  const auto shape = std::bit_cast<MatrixShape>(in.imm);
  MatrixJob job;
  job.rows = shape.rows;
  job.depth = shape.depth;
  job.a_type = shape.a_type;
  job.b_type = shape.b_type;
  job.half_sum = shape.half_sum;
  const Ref* list = warp.frame().code->lists.data() + in.list.first;
  for (uint32_t i = 0; i < shape.c_count; ++i) job.d[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < shape.a_count; ++i) job.a[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < shape.b_count; ++i) job.b[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < shape.c_count; ++i) job.c[i] = warp.lanes<void>(*list++);
  static const MatrixFn multiply = matrix_multiply();
  multiply(job);
  return true;
}

bool load_matrix_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, kRowBytes, mask, addresses);
  const Ref* list = warp.frame().code->lists.data() + in.list.first;
  for (uint32_t matrix = 0; matrix < in.list.defs; ++matrix) {
    uint16_t tile[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = matrix * 8 + row;
      if (addresses.at[lane] % kRowBytes != 0)
        return warp.fault(FaultKind::kMisalignedAddress, in, lane,
                          "a row is not aligned to 16 bytes");
      if (!read_bytes(warp, in, in.space, lane, addresses.at[lane],
                      reinterpret_cast<uint8_t*>(tile[row]), kRowBytes))
        return false;
    }
    uint16_t* d = warp.lanes<uint16_t>(list[matrix]);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t j = 0; j < 2; ++j)
        d[2 * lane + j] =
            tile[element_row(lane, j, in.mode & 1)][element_column(lane, j, in.mode & 1)];
  }
  return true;
}

bool store_matrix_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, kRowBytes, mask, addresses);
  const Ref* list = warp.frame().code->lists.data() + in.list.first;
  for (uint32_t matrix = 0; matrix < in.list.uses; ++matrix) {
    uint16_t tile[8][8];
    const uint16_t* s = warp.lanes<uint16_t>(list[matrix]);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t j = 0; j < 2; ++j)
        tile[element_row(lane, j, in.mode & 1)][element_column(lane, j, in.mode & 1)] =
            s[2 * lane + j];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = matrix * 8 + row;
      if (addresses.at[lane] % kRowBytes != 0)
        return warp.fault(FaultKind::kMisalignedAddress, in, lane,
                          "a row is not aligned to 16 bytes");
      if (!write_bytes(warp, in, in.space, lane, addresses.at[lane],
                       reinterpret_cast<const uint8_t*>(tile[row]), kRowBytes))
        return false;
    }
  }
  return true;
}

}  // namespace gacer::simdevice
