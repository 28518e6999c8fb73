// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/matrix.h"

#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

const Ref* list_of(Warp& warp, const Insn& in) {
  return warp.frame().code->lists.data() + in.list.first;
}

constexpr uint32_t kRowBytes = 16;

// Where element j (0, 1) of a lane's register lies in its 8x8 matrix.
uint32_t element_row(uint32_t lane, uint32_t j, bool transposed) {
  return transposed ? lane % 4 * 2 + j : lane / 4;
}
uint32_t element_column(uint32_t lane, uint32_t j, bool transposed) {
  return transposed ? lane / 4 : lane % 4 * 2 + j;
}

// ---- wmma.load, wmma.store

// Lines are rows, or columns in column layout; their elements lie side by side in memory.
struct TileWalk {
  uint64_t address = 0;
  uint64_t pitch_bytes = 0;
  uint32_t lines = 0, line_bytes = 0;
};

constexpr uint32_t kTileBytes = 2048;

bool walk_of(Warp& warp, const Insn& in, const MatrixTile& tile, TileWalk& out) {
  const bool by_column = (in.mode & 1) != 0;
  out.lines = by_column ? tile.columns : tile.rows;
  out.line_bytes = (by_column ? tile.rows : tile.columns) * tile.element_bytes;
  const uint64_t base =
      in.wide_address ? warp.lanes<uint64_t>(in.a)[0] : warp.lanes<uint32_t>(in.a)[0];
  out.address = base + warp.lanes<uint64_t>(in.e)[0];
  out.pitch_bytes = uint64_t{warp.lanes<uint32_t>(in.b)[0]} * tile.element_bytes / tile.packed;
  if ((out.address | out.pitch_bytes) % tile.element_bytes == 0) return true;
  return warp.fault(FaultKind::kMisalignedAddress, in, 0,
                    "the matrix or its rows are not aligned to its elements");
}

// Index in the walk's bytes of the element whose place in the tile is `place`.
uint32_t memory_index(const MatrixTile& tile, bool by_column, uint32_t place) {
  return by_column ? place % tile.columns * tile.rows + place / tile.columns : place;
}

// f(register, element of all lanes, index in memory) for all elements of the fragment.
template <typename F>
void each_element(const MatrixTile& tile, bool by_column, F f) {
  const uint32_t count = kLanes * tile.per_register;
  for (uint32_t r = 0; r < tile.registers; ++r)
    for (uint32_t i = 0; i < count; ++i)
      f(r, i, memory_index(tile, by_column, tile.place[r * count + i]));
}

template <typename T>
void unpack_tile(Warp& warp, const Insn& in, const MatrixTile& tile, const uint8_t* bytes) {
  const Ref* list = list_of(warp, in);
  each_element(tile, in.mode & 1, [&](uint32_t r, uint32_t i, uint32_t index) {
    std::memcpy(warp.lanes<T>(list[r]) + i, bytes + index * sizeof(T), sizeof(T));
  });
}

template <typename T>
void pack_tile(Warp& warp, const Insn& in, const MatrixTile& tile, uint8_t* bytes) {
  const Ref* list = list_of(warp, in);
  each_element(tile, in.mode & 1, [&](uint32_t r, uint32_t i, uint32_t index) {
    std::memcpy(bytes + index * sizeof(T), warp.lanes<T>(list[r]) + i, sizeof(T));
  });
}

template <typename F>
void by_width(uint32_t bytes, F f) {
  if (bytes == 1) return f(uint8_t{});
  if (bytes == 2) return f(uint16_t{});
  if (bytes == 4) return f(uint32_t{});
  f(uint64_t{});
}

const MatrixTile& tile_of(const Insn& in) {
  return *std::bit_cast<const MatrixTile*>(in.imm);
}

}  // namespace

bool whole_warp(Warp& warp, const Insn& in, uint32_t mask) {
  if (mask == ~0u) return true;
  if (warp.live() == ~0u && !in.guard.used()) return warp.all_here(~0u, mask);
  return warp.fault(FaultKind::kUnsupported, in, static_cast<uint32_t>(std::countr_zero(mask)),
                    "a matrix instruction needs all 32 lanes of the warp");
}

bool mma_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  MatrixJob job;
  job.form = std::bit_cast<const MatrixForm*>(in.imm);
  const MatrixForm& form = *job.form;
  const Ref* list = list_of(warp, in);
  for (uint32_t i = 0; i < form.d.registers; ++i) job.d[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < form.a.registers; ++i) job.a[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < form.b.registers; ++i) job.b[i] = warp.lanes<void>(*list++);
  for (uint32_t i = 0; i < form.c.registers; ++i) job.c[i] = warp.lanes<void>(*list++);
  if (form.chunk != 0) job.indices = warp.lanes<uint32_t>(*list);
  job.selector = in.mode;
  static const MatrixFn multiply = matrix_multiply();
  multiply(job);
  return true;
}

bool wmma_load_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  const MatrixTile& tile = tile_of(in);
  TileWalk walk;
  if (!walk_of(warp, in, tile, walk)) return false;
  alignas(8) uint8_t bytes[kTileBytes];
  for (uint32_t i = 0; i < walk.lines; ++i)
    if (!read_bytes(warp, in, in.space, 0, walk.address + i * walk.pitch_bytes,
                    bytes + i * walk.line_bytes, walk.line_bytes))
      return false;
  by_width(tile.element_bytes, [&](auto t) { unpack_tile<decltype(t)>(warp, in, tile, bytes); });
  return true;
}

bool wmma_store_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  const MatrixTile& tile = tile_of(in);
  TileWalk walk;
  if (!walk_of(warp, in, tile, walk)) return false;
  alignas(8) uint8_t bytes[kTileBytes] = {};
  by_width(tile.element_bytes, [&](auto t) { pack_tile<decltype(t)>(warp, in, tile, bytes); });
  for (uint32_t i = 0; i < walk.lines; ++i)
    if (!write_bytes(warp, in, in.space, 0, walk.address + i * walk.pitch_bytes,
                     bytes + i * walk.line_bytes, walk.line_bytes))
      return false;
  return true;
}

bool move_matrix_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  uint16_t tile[8][8];
  const uint16_t* a = warp.lanes<uint16_t>(in.a);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t j = 0; j < 2; ++j) tile[lane / 4][lane % 4 * 2 + j] = a[2 * lane + j];
  uint16_t* d = warp.lanes<uint16_t>(in.dst);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t j = 0; j < 2; ++j) d[2 * lane + j] = tile[lane % 4 * 2 + j][lane / 4];
  return true;
}

bool load_matrix_handler(Warp& warp, const Insn& in, uint32_t mask) {
  if (!whole_warp(warp, in, mask)) return false;
  LaneAddresses addresses;
  lane_addresses(warp, in.a, in.wide_address, in.imm, kRowBytes, mask, addresses);
  const Ref* list = list_of(warp, in);
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
  const Ref* list = list_of(warp, in);
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
