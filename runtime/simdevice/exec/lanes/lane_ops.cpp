// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set with GACER_LANE_ISA and GACER_LANE_TABLE set; see lane_math.h
// for why nothing here may have external linkage but the table itself.
#include "runtime/simdevice/exec/lanes/lane_ops.h"

#include "runtime/simdevice/exec/lanes/lane_math.h"
#include "runtime/simdevice/exec/lanes/lane_narrow.h"

namespace gacer::simdevice {
namespace {

template <typename D, typename A, typename F>
inline void map1(void* d, const void* a, F f) {
  D* out = static_cast<D*>(d);
  const A* x = static_cast<const A*>(a);
  GACER_EACH_LANE(kLanes) out[i] = f(x[i]);
}
template <typename D, typename A, typename B, typename F>
inline void map2(void* d, const void* a, const void* b, F f) {
  D* out = static_cast<D*>(d);
  const A* x = static_cast<const A*>(a);
  const B* y = static_cast<const B*>(b);
  GACER_EACH_LANE(kLanes) out[i] = f(x[i], y[i]);
}
template <typename D, typename A, typename B, typename C, typename F>
inline void map3(void* d, const void* a, const void* b, const void* c, F f) {
  D* out = static_cast<D*>(d);
  const A* x = static_cast<const A*>(a);
  const B* y = static_cast<const B*>(b);
  const C* z = static_cast<const C*>(c);
  GACER_EACH_LANE(kLanes) out[i] = f(x[i], y[i], z[i]);
}
template <typename D, typename A, typename B, typename C, typename E, typename F>
inline void map4(void* d, const void* a, const void* b, const void* c, const void* e, F f) {
  D* out = static_cast<D*>(d);
  const A* x = static_cast<const A*>(a);
  const B* y = static_cast<const B*>(b);
  const C* z = static_cast<const C*>(c);
  const E* w = static_cast<const E*>(e);
  GACER_EACH_LANE(kLanes) out[i] = f(x[i], y[i], z[i], w[i]);
}

// Packed halves: two elements a lane, so 64 of them.
template <typename F>
inline void pairs1(void* d, const void* a, F f) {
  uint16_t* out = static_cast<uint16_t*>(d);
  const uint16_t* x = static_cast<const uint16_t*>(a);
  GACER_EACH_LANE(2 * kLanes) out[i] = f(x[i]);
}
template <typename F>
inline void pairs2(void* d, const void* a, const void* b, F f) {
  uint16_t* out = static_cast<uint16_t*>(d);
  const uint16_t* x = static_cast<const uint16_t*>(a);
  const uint16_t* y = static_cast<const uint16_t*>(b);
  GACER_EACH_LANE(2 * kLanes) out[i] = f(x[i], y[i]);
}
template <typename F>
inline void pairs3(void* d, const void* a, const void* b, const void* c, F f) {
  uint16_t* out = static_cast<uint16_t*>(d);
  const uint16_t* x = static_cast<const uint16_t*>(a);
  const uint16_t* y = static_cast<const uint16_t*>(b);
  const uint16_t* z = static_cast<const uint16_t*>(c);
  GACER_EACH_LANE(2 * kLanes) out[i] = f(x[i], y[i], z[i]);
}

template <typename A, typename F>
inline uint32_t compare_lanes(const void* a, const void* b, F f) {
  const A* x = static_cast<const A*>(a);
  const A* y = static_cast<const A*>(b);
  uint32_t mask = 0;
  GACER_EACH_LANE(kLanes) mask |= static_cast<uint32_t>(f(x[i], y[i])) << i;
  return mask;
}

// d where the mask has a bit, else y.
template <typename T>
inline void select_lanes(void* d, const void* a, const void* b, const void* c) {
  T* out = static_cast<T*>(d);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const uint32_t mask = *static_cast<const uint32_t*>(c);
  GACER_EACH_LANE(kLanes) out[i] = ((mask >> i) & 1u) != 0 ? x[i] : y[i];
}

template <typename T, uint32_t kTrue>
inline void spread_mask(void* d, const void* a) {
  T* out = static_cast<T*>(d);
  const uint32_t mask = *static_cast<const uint32_t*>(a);
  GACER_EACH_LANE(kLanes) out[i] = static_cast<T>((0 - ((mask >> i) & 1u)) & kTrue);
}
template <uint32_t kTrue>
inline void spread_masks(void* d, const void* a, const void* b) {
  uint32_t* out = static_cast<uint32_t*>(d);
  const uint32_t low = *static_cast<const uint32_t*>(a), high = *static_cast<const uint32_t*>(b);
  GACER_EACH_LANE(kLanes)
  out[i] = ((0 - ((low >> i) & 1u)) & kTrue) | ((0 - ((high >> i) & 1u)) & (kTrue << 16));
}

template <typename T>
constexpr uint8_t kBitsOf = static_cast<uint8_t>(8 * sizeof(T));

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

#define GACER_ARGS void *d, const void *a, const void *b, const void *c, const void *e
#define GACER_UNUSED \
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(e)
#define OP1(NAME, PIPE, D, A, EXPR)                                   \
  {NAME,                                                              \
   [](GACER_ARGS) {                                                   \
     GACER_UNUSED;                                                    \
     map1<D, A>(d, a, [](A x) -> D { return static_cast<D>(EXPR); }); \
   },                                                                 \
   kBitsOf<D>,                                                        \
   {kBitsOf<A>, 0, 0, 0},                                             \
   Pipe::PIPE},
#define OP2(NAME, PIPE, D, A, B, EXPR)                                           \
  {NAME,                                                                         \
   [](GACER_ARGS) {                                                              \
     GACER_UNUSED;                                                               \
     map2<D, A, B>(d, a, b, [](A x, B y) -> D { return static_cast<D>(EXPR); }); \
   },                                                                            \
   kBitsOf<D>,                                                                   \
   {kBitsOf<A>, kBitsOf<B>, 0, 0},                                               \
   Pipe::PIPE},
#define OP3(NAME, PIPE, D, A, B, C, EXPR)                                                   \
  {NAME,                                                                                    \
   [](GACER_ARGS) {                                                                         \
     GACER_UNUSED;                                                                          \
     map3<D, A, B, C>(d, a, b, c, [](A x, B y, C z) -> D { return static_cast<D>(EXPR); }); \
   },                                                                                       \
   kBitsOf<D>,                                                                              \
   {kBitsOf<A>, kBitsOf<B>, kBitsOf<C>, 0},                                                 \
   Pipe::PIPE},
#define OP4(NAME, PIPE, D, A, B, C, E, EXPR)                                            \
  {NAME,                                                                                \
   [](GACER_ARGS) {                                                                     \
     map4<D, A, B, C, E>(d, a, b, c, e,                                                 \
                         [](A x, B y, C z, E w) -> D { return static_cast<D>(EXPR); }); \
   },                                                                                   \
   kBitsOf<D>,                                                                          \
   {kBitsOf<A>, kBitsOf<B>, kBitsOf<C>, kBitsOf<E>},                                    \
   Pipe::PIPE},
// The same with the thread's rounding mode changed while the lanes run.
#define OP1R(NAME, PIPE, MODE, D, A, EXPR)                            \
  {NAME,                                                              \
   [](GACER_ARGS) {                                                   \
     GACER_UNUSED;                                                    \
     const Rounding mode(RoundTo::MODE);                              \
     map1<D, A>(d, a, [](A x) -> D { return static_cast<D>(EXPR); }); \
   },                                                                 \
   kBitsOf<D>,                                                        \
   {kBitsOf<A>, 0, 0, 0},                                             \
   Pipe::PIPE},
#define OP2R(NAME, PIPE, MODE, D, A, B, EXPR)                                    \
  {NAME,                                                                         \
   [](GACER_ARGS) {                                                              \
     GACER_UNUSED;                                                               \
     const Rounding mode(RoundTo::MODE);                                         \
     map2<D, A, B>(d, a, b, [](A x, B y) -> D { return static_cast<D>(EXPR); }); \
   },                                                                            \
   kBitsOf<D>,                                                                   \
   {kBitsOf<A>, kBitsOf<B>, 0, 0},                                               \
   Pipe::PIPE},
#define OP3R(NAME, PIPE, MODE, D, A, B, C, EXPR)                                            \
  {NAME,                                                                                    \
   [](GACER_ARGS) {                                                                         \
     GACER_UNUSED;                                                                          \
     const Rounding mode(RoundTo::MODE);                                                    \
     map3<D, A, B, C>(d, a, b, c, [](A x, B y, C z) -> D { return static_cast<D>(EXPR); }); \
   },                                                                                       \
   kBitsOf<D>,                                                                              \
   {kBitsOf<A>, kBitsOf<B>, kBitsOf<C>, 0},                                                 \
   Pipe::PIPE},
#define PAIRS1(NAME, PIPE, EXPR)                                        \
  {NAME,                                                                \
   [](GACER_ARGS) {                                                     \
     GACER_UNUSED;                                                      \
     pairs1(d, a, [](u16 x) -> u16 { return static_cast<u16>(EXPR); }); \
   },                                                                   \
   32,                                                                  \
   {32, 0, 0, 0},                                                       \
   Pipe::PIPE},
#define PAIRS2(NAME, PIPE, EXPR)                                                  \
  {NAME,                                                                          \
   [](GACER_ARGS) {                                                               \
     GACER_UNUSED;                                                                \
     pairs2(d, a, b, [](u16 x, u16 y) -> u16 { return static_cast<u16>(EXPR); }); \
   },                                                                             \
   32,                                                                            \
   {32, 32, 0, 0},                                                                \
   Pipe::PIPE},
#define PAIRS3(NAME, PIPE, EXPR)                                                            \
  {NAME,                                                                                    \
   [](GACER_ARGS) {                                                                         \
     GACER_UNUSED;                                                                          \
     pairs3(d, a, b, c, [](u16 x, u16 y, u16 z) -> u16 { return static_cast<u16>(EXPR); }); \
   },                                                                                       \
   32,                                                                                      \
   {32, 32, 32, 0},                                                                         \
   Pipe::PIPE},
#define SELECT(NAME, T)            \
  {NAME,                           \
   [](GACER_ARGS) {                \
     GACER_UNUSED;                 \
     select_lanes<T>(d, a, b, c);  \
   },                              \
   kBitsOf<T>,                     \
   {kBitsOf<T>, kBitsOf<T>, 1, 0}, \
   Pipe::kInt},
#define MASK(NAME, T, TRUE)      \
  {NAME,                         \
   [](GACER_ARGS) {              \
     GACER_UNUSED;               \
     spread_mask<T, TRUE>(d, a); \
   },                            \
   kBitsOf<T>,                   \
   {1, 0, 0, 0},                 \
   Pipe::kInt},
#define MASK_PAIR(NAME, TRUE)     \
  {NAME,                          \
   [](GACER_ARGS) {               \
     GACER_UNUSED;                \
     spread_masks<TRUE>(d, a, b); \
   },                             \
   32,                            \
   {1, 1, 0, 0},                  \
   Pipe::kInt},

constexpr LaneOp kOps[] = {
#include "runtime/simdevice/exec/lanes/rows_convert.inc"
#include "runtime/simdevice/exec/lanes/rows_float.inc"
#include "runtime/simdevice/exec/lanes/rows_half.inc"
#include "runtime/simdevice/exec/lanes/rows_int.inc"
#include "runtime/simdevice/exec/lanes/rows_narrow.inc"
};

#define CMP(NAME, PIPE, A, EXPR)                                           \
  {NAME,                                                                   \
   [](const void* a, const void* b) {                                      \
     return compare_lanes<A>(a, b, [](A x, A y) -> bool { return EXPR; }); \
   },                                                                      \
   kBitsOf<A>, Pipe::PIPE},

constexpr CompareOp kCompares[] = {
#include "runtime/simdevice/exec/lanes/rows_compare.inc"
};

constexpr LaneTable kTable = {GACER_LANE_ISA, kOps, sizeof(kOps) / sizeof(kOps[0]), kCompares,
                              sizeof(kCompares) / sizeof(kCompares[0])};

}  // namespace

const LaneTable* GACER_LANE_TABLE() {
  return &kTable;
}

}  // namespace gacer::simdevice
