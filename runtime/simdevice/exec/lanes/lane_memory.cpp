// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, like lane_ops.cpp.
#include "runtime/simdevice/exec/lanes/lane_memory.h"

#include "runtime/simdevice/exec/lanes/lane_math.h"
#include "runtime/simdevice/exec/lanes/lane_ops.h"

namespace gacer::simdevice {
namespace {

// The common cases first, for whole warps: side by side, or all the same.
bool summarise_simply(const uint64_t* at, uint32_t shift, AddressSummary& out) {
  const uint64_t origin = at[0];
  uint64_t apart = 0, uneven = 0;
  GACER_EACH_LANE(kLanes) {
    apart |= at[i] ^ origin;
    uneven |= at[i] ^ (origin + (static_cast<uint64_t>(i) << shift));
  }
  if (apart != 0 && uneven != 0) return false;
  const uint64_t last = apart == 0 ? origin : origin + (uint64_t{kLanes - 1} << shift);
  // Multiples of the step do not change the bits below it.
  out = {origin, last, origin, apart != 0, origin};
  return last >= origin;
}

AddressSummary summarise_all(const uint64_t* at, uint32_t shift, uint32_t mask) {
  const int first = __builtin_ctz(mask);
  const uint64_t origin = at[first] - (static_cast<uint64_t>(first) << shift);
  uint64_t bad = 0, least = ~uint64_t{0}, greatest = 0, or_all = 0;
  GACER_EACH_LANE(kLanes) {
    const uint64_t active = 0 - static_cast<uint64_t>((mask >> i) & 1u);
    const uint64_t value = at[i];
    bad |= (value ^ (origin + (static_cast<uint64_t>(i) << shift))) & active;
    const uint64_t low = value | ~active, high = value & active;
    least = low < least ? low : least;
    greatest = high > greatest ? high : greatest;
    or_all |= high;
  }
  return {least, greatest, or_all, bad == 0, origin};
}

template <typename T>
void summarise(const void* reg, int64_t offset, uint32_t step, uint32_t mask, uint64_t* at,
               AddressSummary* out) {
  const T* in = static_cast<const T*>(reg);
  const T add = static_cast<T>(offset);
  GACER_EACH_LANE(kLanes) at[i] = static_cast<T>(in[i] + add);
  // Not multiplied by the step: 64-bit vector products are slow.
  const uint32_t shift = static_cast<uint32_t>(__builtin_ctz(step));
  if (mask != ~0u || !summarise_simply(at, shift, *out)) *out = summarise_all(at, shift, mask);
}

// The element type as memory has it, and as it lies in a register.
template <typename M, typename R>
struct Moves {
  static R widen(M value) { return static_cast<R>(value); }
  static M read(const uint8_t* p) {
    M value;
    __builtin_memcpy(&value, p, sizeof(M));
    return value;
  }
  static void write(uint8_t* p, R value) {
    const M cut = static_cast<M>(value);
    __builtin_memcpy(p, &cut, sizeof(M));
  }

  static void load_strided(void* d, const uint8_t* src, uint64_t stride) {
    R* out = static_cast<R*>(d);
    if (stride == sizeof(M)) {
      GACER_EACH_LANE(kLanes) out[i] = widen(read(src + static_cast<uint64_t>(i) * sizeof(M)));
    } else {
      GACER_EACH_LANE(kLanes) out[i] = widen(read(src + static_cast<uint64_t>(i) * stride));
    }
  }
  static void load_same(void* d, const uint8_t* src) {
    R* out = static_cast<R*>(d);
    const R value = widen(read(src));
    GACER_EACH_LANE(kLanes) out[i] = value;
  }
  static void load_indexed(void* d, const uint8_t* host, uint64_t base, const uint64_t* address,
                           uint32_t mask) {
    R* out = static_cast<R*>(d);
    const uintptr_t from = reinterpret_cast<uintptr_t>(host) - base;
    if (mask == ~0u) {
      for (int i = 0; i < kLanes; ++i)
        out[i] = widen(read(reinterpret_cast<const uint8_t*>(from + address[i])));
      return;
    }
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int i = __builtin_ctz(m);
      out[i] = widen(read(reinterpret_cast<const uint8_t*>(from + address[i])));
    }
  }
  static void store_strided(const void* s, uint8_t* dst, uint64_t stride) {
    const R* in = static_cast<const R*>(s);
    if (stride == sizeof(M)) {
      GACER_EACH_LANE(kLanes) write(dst + static_cast<uint64_t>(i) * sizeof(M), in[i]);
    } else {
      for (int i = 0; i < kLanes; ++i) write(dst + static_cast<uint64_t>(i) * stride, in[i]);
    }
  }
  static void store_indexed(const void* s, uint8_t* host, uint64_t base, const uint64_t* address,
                            uint32_t mask) {
    const R* in = static_cast<const R*>(s);
    const uintptr_t to = reinterpret_cast<uintptr_t>(host) - base;
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int i = __builtin_ctz(m);
      write(reinterpret_cast<uint8_t*>(to + address[i]), in[i]);
    }
  }
  static void load_one(void* d, int lane, const uint8_t* src) {
    static_cast<R*>(d)[lane] = widen(read(src));
  }
  static void store_one(const void* s, int lane, uint8_t* dst) {
    write(dst, static_cast<const R*>(s)[lane]);
  }
};

template <typename M, typename R, bool kSign>
constexpr MemoryOps row() {
  using Move = Moves<M, R>;
  return {sizeof(M),           kSign,
          8 * sizeof(R),       Move::load_strided,
          Move::load_same,     Move::load_indexed,
          Move::store_strided, Move::store_indexed,
          Move::load_one,      Move::store_one};
}

constexpr MemoryOps kRows[] = {
    row<uint8_t, uint16_t, false>(),  row<uint8_t, uint32_t, false>(),
    row<uint8_t, uint64_t, false>(),  row<int8_t, int16_t, true>(),
    row<int8_t, int32_t, true>(),     row<int8_t, int64_t, true>(),
    row<uint16_t, uint16_t, false>(), row<uint16_t, uint32_t, false>(),
    row<uint16_t, uint64_t, false>(), row<int16_t, int16_t, true>(),
    row<int16_t, int32_t, true>(),    row<int16_t, int64_t, true>(),
    row<uint32_t, uint32_t, false>(), row<uint32_t, uint64_t, false>(),
    row<int32_t, int32_t, true>(),    row<int32_t, int64_t, true>(),
    row<uint64_t, uint64_t, false>(), row<int64_t, int64_t, true>(),
};

template <typename T>
void blend(void* d, const void* s, uint32_t mask) {
  T* out = static_cast<T*>(d);
  const T* in = static_cast<const T*>(s);
  GACER_EACH_LANE(kLanes) out[i] = ((mask >> i) & 1u) != 0 ? in[i] : out[i];
}

constexpr MemoryTable kTable = {summarise<uint32_t>,
                                summarise<uint64_t>,
                                blend<uint16_t>,
                                blend<uint32_t>,
                                blend<uint64_t>,
                                kRows,
                                sizeof(kRows) / sizeof(kRows[0])};

}  // namespace

const MemoryTable* GACER_MEMORY_TABLE() {
  return &kTable;
}

}  // namespace gacer::simdevice
