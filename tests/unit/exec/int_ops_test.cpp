// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

template <typename T>
T cut(u64 v) {
  return static_cast<T>(v);
}
template <typename T>
u64 wide(T v) {
  return static_cast<u64>(v);
}
template <typename T>
u64 clamp_shift(u64 n) {
  return std::min<u64>(n & 0xffffffff, 8 * sizeof(T));
}
// Shifts of any amount: 64-bit arithmetic on values of at most 64 bits, amounts clamped to the
// width.
template <typename T>
u64 shift_left(u64 a, u64 n) {
  const u64 s = clamp_shift<T>(n);
  return s >= 64 ? 0 : wide(cut<T>(a)) << s;
}
template <typename T>
u64 shift_right(u64 a, u64 n) {
  const u64 s = clamp_shift<T>(n);
  const s64 value = static_cast<s64>(cut<T>(a));
  if (std::is_signed_v<T>) return wide(value >> std::min<u64>(s, 63));
  return s >= 64 ? 0 : wide(cut<T>(a)) >> s;
}
u64 bit_field(u64 x, u64 pos, u64 len, u64 width, bool is_signed) {
  pos &= 255, len &= 255;
  u64 out = 0;
  const u64 sign_at = std::min(pos + len - 1, width - 1);
  for (u64 i = 0; i < width; ++i) {
    const u64 from = pos + i;
    u64 bit = i < len && from < width ? x >> from & 1 : 0;
    if (is_signed && len != 0 && (i >= len || from >= width)) bit = x >> sign_at & 1;
    out |= bit << i;
  }
  return out;
}
u64 bit_insert(u64 x, u64 into, u64 pos, u64 len, u64 width) {
  pos &= 255, len &= 255;
  for (u64 i = 0; i < len && pos + i < width; ++i)
    into = (into & ~(u64{1} << (pos + i))) | (x >> i & 1) << (pos + i);
  return into;
}
u64 find_leading(u64 x, u64 width, bool is_signed) {
  if (is_signed && (x >> (width - 1) & 1) != 0) x = ~x;
  for (u64 i = width; i-- > 0;)
    if ((x >> i & 1) != 0) return i;
  return 0xffffffff;
}
u64 permute(u64 a, u64 b, u64 c) {
  const u64 source = (b << 32) | (a & 0xffffffff);
  u64 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u64 selector = c >> (4 * i) & 15;
    u64 byte = source >> (8 * (selector & 7)) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}
u64 logic3(u64 a, u64 b, u64 c, u64 table) {
  u64 out = 0;
  for (int i = 0; i < 32; ++i)
    out |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
  return out;
}

class IntOp : public testing::TestWithParam<OpCase> {};

TEST_P(IntOp, EqualsTheHostsArithmetic) {
  check_op(GetParam(), special_ints());
}

#define EXPR [](u64 a, u64 b, u64 c) -> u64 { static_cast<void>(a), static_cast<void>(b), static_cast<void>(c); return
#define END \
  ;         \
  }

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, IntOp,
    testing::Values(
        OpCase{"add.s16 d16, a16, b16;", 16, EXPR a + b END},
        OpCase{"add.u32 d32, a32, b32;", 32, EXPR a + b END},
        OpCase{"add.s64 d64, a64, b64;", 64, EXPR a + b END},
        OpCase{"add.s32 d32, a32, -7;", 32, EXPR a - 7 END},
        OpCase{"sub.s32 d32, a32, b32;", 32, EXPR a - b END},
        OpCase{"sub.u64 d64, a64, b64;", 64, EXPR a - b END},
        OpCase{"mul.lo.s16 d16, a16, b16;", 16, EXPR a* b END},
        OpCase{"mul.lo.u32 d32, a32, b32;", 32, EXPR a* b END},
        OpCase{"mul.lo.s64 d64, a64, b64;", 64, EXPR a* b END},
        OpCase{"mad.lo.s32 d32, a32, b32, c32;", 32, EXPR a* b + c END},
        OpCase{"mad.lo.u64 d64, a64, b64, c64;", 64, EXPR a* b + c END},
        OpCase{"mul.hi.u32 d32, a32, b32;", 32, EXPR(wide(cut<u32>(a)) * cut<u32>(b)) >> 32 END},
        OpCase{"mul.hi.s32 d32, a32, b32;", 32,
               EXPR wide((s64{cut<s32>(a)} * cut<s32>(b)) >> 32) END},
        OpCase{"mul.hi.u64 d64, a64, b64;", 64, EXPR static_cast<u64>((u128{a} * b) >> 64) END},
        OpCase{"mul.hi.s64 d64, a64, b64;", 64,
               EXPR static_cast<u64>((s128{cut<s64>(a)} * cut<s64>(b)) >> 64) END},
        OpCase{"mul.wide.u16 d32, a16, b16;", 32, EXPR wide(cut<u16>(a)) * cut<u16>(b) END},
        OpCase{"mul.wide.s16 d32, a16, b16;", 32, EXPR wide(s64{cut<s16>(a)} * cut<s16>(b)) END},
        OpCase{"mul.wide.u32 d64, a32, b32;", 64, EXPR wide(cut<u32>(a)) * cut<u32>(b) END},
        OpCase{"mul.wide.s32 d64, a32, b32;", 64, EXPR wide(s64{cut<s32>(a)} * cut<s32>(b)) END},
        OpCase{"mad.wide.s32 d64, a32, b32, c64;", 64,
               EXPR wide(s64{cut<s32>(a)} * cut<s32>(b)) + c END},
        OpCase{"mad.wide.u32 d64, a32, b32, c64;", 64,
               EXPR wide(cut<u32>(a)) * cut<u32>(b) + c END},
        OpCase{"mad.hi.u32 d32, a32, b32, c32;", 32,
               EXPR((wide(cut<u32>(a)) * cut<u32>(b)) >> 32) + c END},
        OpCase{"mul24.lo.u32 d32, a32, b32;", 32, EXPR(a & 0xffffff) * (b & 0xffffff) END},
        OpCase{"sad.s32 d32, a32, b32, c32;", 32,
               EXPR c + wide(s64{cut<s32>(a)} > cut<s32>(b) ? s64{cut<s32>(a)} - cut<s32>(b)
                                                            : s64{cut<s32>(b)} - cut<s32>(a)) END},
        OpCase{"neg.s32 d32, a32;", 32, EXPR 0 - a END},
        OpCase{"neg.s64 d64, a64;", 64, EXPR 0 - a END},
        OpCase{"abs.s32 d32, a32;", 32, EXPR cut<s32>(a) < 0 ? 0 - a : a END},
        OpCase{"abs.s64 d64, a64;", 64, EXPR cut<s64>(a) < 0 ? 0 - a : a END},
        OpCase{"min.s32 d32, a32, b32;", 32, EXPR wide(std::min(cut<s32>(a), cut<s32>(b))) END},
        OpCase{"max.u32 d32, a32, b32;", 32, EXPR std::max(cut<u32>(a), cut<u32>(b)) END},
        OpCase{"min.s64 d64, a64, b64;", 64, EXPR wide(std::min(cut<s64>(a), cut<s64>(b))) END},
        OpCase{"max.s16 d16, a16, b16;", 16, EXPR wide(std::max(cut<s16>(a), cut<s16>(b))) END},
        OpCase{"min.u16 d16, a16, b16;", 16, EXPR std::min(cut<u16>(a), cut<u16>(b)) END},
        OpCase{"add.sat.s32 d32, a32, b32;", 32,
               EXPR wide(std::clamp<s64>(s64{cut<s32>(a)} + cut<s32>(b), INT32_MIN, INT32_MAX))
                   END},
        OpCase{"sub.sat.s32 d32, a32, b32;", 32,
               EXPR wide(std::clamp<s64>(s64{cut<s32>(a)} - cut<s32>(b), INT32_MIN, INT32_MAX))
                   END}));

INSTANTIATE_TEST_SUITE_P(
    Division, IntOp,
    testing::Values(
        OpCase{"or.b32 b32, b32, 1; div.u32 d32, a32, b32;", 32,
               EXPR cut<u32>(a) / cut<u32>(b | 1) END},
        OpCase{"or.b32 b32, b32, 1; rem.u32 d32, a32, b32;", 32,
               EXPR cut<u32>(a) % cut<u32>(b | 1) END},
        OpCase{"or.b32 b32, b32, 1; div.s32 d32, a32, b32;", 32,
               EXPR wide(s64{cut<s32>(a)} / cut<s32>(b | 1)) END},
        OpCase{"or.b32 b32, b32, 1; rem.s32 d32, a32, b32;", 32,
               EXPR wide(s64{cut<s32>(a)} % cut<s32>(b | 1)) END},
        OpCase{"or.b64 b64, b64, 1; div.u64 d64, a64, b64;", 64, EXPR a / (b | 1) END},
        OpCase{"or.b64 b64, b64, 1; rem.s64 d64, a64, b64;", 64,
               EXPR static_cast<u64>(s128{cut<s64>(a)} % cut<s64>(b | 1)) END},
        OpCase{"or.b64 b64, b64, 1; div.s64 d64, a64, b64;", 64,
               EXPR static_cast<u64>(s128{cut<s64>(a)} / cut<s64>(b | 1)) END},
        OpCase{"or.b16 b16, b16, 1; div.s16 d16, a16, b16;", 16,
               EXPR wide(s64{cut<s16>(a)} / cut<s16>(b | 1)) END},
        // Undefined on a device, but it must end.
        OpCase{
            "div.u32 t320, a32, 0; div.s64 t640, a64, 0; rem.s32 t321, a32, 0; mov.u32 d32, a32;",
            32, EXPR a END}));

INSTANTIATE_TEST_SUITE_P(
    Bits, IntOp,
    testing::Values(OpCase{"and.b32 d32, a32, b32;", 32, EXPR a & b END}, OpCase{"or.b64 d64, a64, b64;", 64, EXPR a | b END},
                    OpCase{"xor.b16 d16, a16, b16;", 16, EXPR a ^ b END}, OpCase{"not.b32 d32, a32;", 32, EXPR ~a END},
                    OpCase{"cnot.b32 d32, a32;", 32, EXPR cut<u32>(a) == 0 END}, OpCase{"shl.b32 d32, a32, b32;", 32, EXPR shift_left<u32>(a, b) END},
                    OpCase{"shl.b64 d64, a64, b32;", 64, EXPR shift_left<u64>(a, b) END},
                    OpCase{"shl.b16 d16, a16, b32;", 16, EXPR shift_left<u16>(a, b) END},
                    OpCase{"shr.u32 d32, a32, b32;", 32, EXPR shift_right<u32>(a, b) END},
                    OpCase{"shr.s32 d32, a32, b32;", 32, EXPR shift_right<s32>(a, b) END},
                    OpCase{"shr.b32 d32, a32, b32;", 32, EXPR shift_right<u32>(a, b) END},
                    OpCase{"shr.u64 d64, a64, b32;", 64, EXPR shift_right<u64>(a, b) END},
                    OpCase{"shr.s64 d64, a64, b32;", 64, EXPR shift_right<s64>(a, b) END},
                    OpCase{"shr.s16 d16, a16, b32;", 16, EXPR shift_right<s16>(a, b) END},
                    OpCase{"shf.l.wrap.b32 d32, a32, b32, c32;", 32, EXPR(((b << 32 | (a & 0xffffffff)) << (c & 31)) >> 32) END},
                    OpCase{"shf.l.clamp.b32 d32, a32, b32, c32;", 32,
                           EXPR(cut<u32>(c) >= 32 ? a : ((b << 32 | (a & 0xffffffff)) << (c & 31)) >> 32) END},
                    OpCase{"shf.r.wrap.b32 d32, a32, b32, c32;", 32, EXPR((b << 32 | (a & 0xffffffff)) >> (c & 31)) END},
                    OpCase{"shf.r.clamp.b32 d32, a32, b32, c32;", 32,
                           EXPR(cut<u32>(c) >= 32 ? b : (b << 32 | (a & 0xffffffff)) >> (c & 31)) END},
                    OpCase{"popc.b32 d32, a32;", 32, EXPR wide(std::popcount(cut<u32>(a))) END},
                    OpCase{"popc.b64 d32, a64;", 32, EXPR wide(std::popcount(a)) END},
                    OpCase{"clz.b32 d32, a32;", 32, EXPR wide(std::countl_zero(cut<u32>(a))) END},
                    OpCase{"clz.b64 d32, a64;", 32, EXPR wide(std::countl_zero(a)) END},
                    OpCase{"brev.b32 d32, a32;", 32, EXPR [&] { u64 r = 0; for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i); return r;
}  // namespace
() END
}  // namespace gacer::simdevice::test
, OpCase{"brev.b64 d64, a64;", 64, EXPR[&]{u64 r = 0;
for (int i = 0; i < 64; ++i) r |= (a >> i & 1) << (63 - i);
return r;
}
() END
},
                    OpCase{"bfind.u32 d32, a32;", 32, EXPR find_leading(cut<u32>(a), 32, false) END},
                    OpCase{"bfind.s32 d32, a32;", 32, EXPR find_leading(cut<u32>(a), 32, true) & 0xffffffff END},
                    OpCase{"bfind.u64 d32, a64;", 32, EXPR find_leading(a, 64, false) END},
                    OpCase{"bfind.shiftamt.u32 d32, a32;", 32,
                           EXPR(cut<u32>(a) == 0 ? 0xffffffff : 31 - find_leading(cut<u32>(a), 32, false)) END},
                    OpCase{"bfe.u32 d32, a32, b32, c32;", 32, EXPR bit_field(a, b, c, 32, false) END},
                    OpCase{"bfe.s32 d32, a32, b32, c32;", 32, EXPR bit_field(a, b, c, 32, true) END},
                    OpCase{"bfe.u64 d64, a64, b32, c32;", 64, EXPR bit_field(a, b, c, 64, false) END},
                    OpCase{"bfe.s64 d64, a64, b32, c32;", 64, EXPR bit_field(a, b, c, 64, true) END},
                    OpCase{"bfi.b32 d32, a32, b32, c32, 9;", 32, EXPR bit_insert(a, b, c, 9, 32) END},
                    OpCase{"bfi.b64 d64, a64, b64, c32, 40;", 64, EXPR bit_insert(a, b, c, 40, 64) END},
                    OpCase{"prmt.b32 d32, a32, b32, c32;", 32, EXPR permute(a, b, c) END},
                    OpCase{"prmt.b32 d32, a32, b32, 0x5410;", 32, EXPR(a & 0xffff) | (b & 0xffff) << 16 END},
                    OpCase{"prmt.b32.rc16 d32, a32, b32, 1;", 32, EXPR(a >> 16 & 0xffff) * 0x10001 END},
                    OpCase{"lop3.b32 d32, a32, b32, c32, 0xE8;", 32, EXPR logic3(a, b, c, 0xE8) END},
                    OpCase{"lop3.b32 d32, a32, b32, c32, 0x96;", 32, EXPR a ^ b ^ c END}));

template <typename A, typename B>
u64 dot4(u64 a, u64 b, u64 c) {
  for (int i = 0; i < 4; ++i) c += wide(s64{cut<A>(a >> (8 * i))} * cut<B>(b >> (8 * i)));
  return c;
}

INSTANTIATE_TEST_SUITE_P(
    Select, IntOp,
    testing::Values(
        OpCase{"selp.b32 d32, a32, b32, pc;", 32, EXPR(c & 1 ? a : b) END},
        OpCase{"selp.u64 d64, a64, b64, pc;", 64, EXPR(c & 1 ? a : b) END},
        OpCase{"selp.b16 d16, a16, b16, pc;", 16, EXPR(c & 1 ? a : b) END},
        OpCase{"selp.f32 df32, af32, 0f3F800000, pc; mov.b32 d32, df32;", 32,
               EXPR(c & 1 ? a : 0x3F800000) END},
        OpCase{"slct.u32.s32 d32, a32, b32, c32;", 32, EXPR(cut<s32>(c) >= 0 ? a : b) END},
        OpCase{"slct.b64.s32 d64, a64, b64, c32;", 64, EXPR(cut<s32>(c) >= 0 ? a : b) END},
        OpCase{"dp4a.s32.s32 d32, a32, b32, c32;", 32, EXPR(dot4<int8_t, int8_t>(a, b, c)) END},
        OpCase{"dp4a.u32.u32 d32, a32, b32, c32;", 32, EXPR(dot4<uint8_t, uint8_t>(a, b, c)) END},
        OpCase{"dp4a.u32.s32 d32, a32, b32, c32;", 32, EXPR(dot4<uint8_t, int8_t>(a, b, c)) END},
        OpCase{"mov.b64 d64, {a32, b32};", 64, EXPR(a & 0xffffffff) | b << 32 END},
        OpCase{"mov.b32 d32, {a16, b16};", 32, EXPR(a & 0xffff) | b << 16 END},
        OpCase{"mov.b64 d64, {a16, b16, c16, a16};", 64,
               EXPR(a & 0xffff) | (b & 0xffff) << 16 | (c & 0xffff) << 32 | a << 48 END},
        OpCase{"mov.b64 {t320, d32}, a64;", 32, EXPR a >> 32 END},
        OpCase{"mov.b32 {_, d16}, a32;", 16, EXPR a >> 16 END},
        OpCase{"mov.b64 {t161, t162, d16, t163}, a64;", 16, EXPR a >> 32 END}));

// 128-bit sums by way of the carry, as nvcc writes them.
INSTANTIATE_TEST_SUITE_P(
    Carry, IntOp,
    testing::Values(
        OpCase{"add.cc.u32 t320, a32, b32; addc.u32 d32, 0, 0;", 32,
               EXPR((a & 0xffffffff) + (b & 0xffffffff)) >> 32 END},
        OpCase{"add.cc.u64 t640, a64, b64; addc.u64 d64, c64, a64;", 64,
               EXPR c + a + (a + b < a) END},
        OpCase{"sub.cc.u32 t320, a32, b32; subc.u32 d32, c32, 0;", 32,
               EXPR c - (cut<u32>(a) < cut<u32>(b)) END},
        OpCase{"add.cc.u32 t320, a32, b32; addc.cc.u32 t321, a32, c32; addc.u32 d32, 0, 0;", 32,
               EXPR((a & 0xffffffff) + (c & 0xffffffff) +
                    (((a & 0xffffffff) + (b & 0xffffffff)) >> 32)) >>
                   32 END},
        OpCase{"mad.lo.cc.u32 t320, a32, b32, c32; madc.hi.u32 d32, a32, b32, 0;", 32,
               EXPR(wide(cut<u32>(a)) * cut<u32>(b) + cut<u32>(c)) >> 32 END}));

INSTANTIATE_TEST_SUITE_P(Predicates, IntOp,
                         testing::Values(OpCase{"and.pred pd, pa, pb;", 1, EXPR a& b END},
                                         OpCase{"or.pred pd, pa, !pb;", 1, EXPR a | ~b END},
                                         OpCase{"xor.pred pd, pa, pb;", 1, EXPR a ^ b END},
                                         OpCase{"not.pred pd, pa;", 1, EXPR ~a END},
                                         OpCase{"mov.pred pd, pa;", 1, EXPR a END},
                                         OpCase{"mov.pred pd, 1;", 1, EXPR 1 END},
                                         OpCase{"mov.pred pd, 0;", 1, EXPR 0 END},
                                         OpCase{"mov.pred pd, !pa;", 1, EXPR ~a END}));

#define COMPARES(TYPE, WIDTH, C)                                                                  \
  OpCase{"setp.eq." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) == cut<C>(b) END},     \
      OpCase{"setp.ne." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) != cut<C>(b) END}, \
      OpCase{"setp.lt." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) < cut<C>(b) END},  \
      OpCase{"setp.le." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) <= cut<C>(b) END}, \
      OpCase{"setp.gt." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) > cut<C>(b) END},  \
      OpCase {                                                                                    \
    "setp.ge." TYPE " pd, a" WIDTH ", b" WIDTH ";", 1, EXPR cut<C>(a) >= cut<C>(b) END            \
  }

INSTANTIATE_TEST_SUITE_P(
    Compare, IntOp,
    testing::Values(
        COMPARES("s16", "16", s16), COMPARES("u16", "16", u16), COMPARES("s32", "32", s32),
        COMPARES("u32", "32", u32), COMPARES("s64", "64", s64), COMPARES("u64", "64", u64),
        OpCase{"setp.lo.u32 pd, a32, b32;", 1, EXPR cut<u32>(a) < cut<u32>(b) END},
        OpCase{"setp.hs.u64 pd, a64, b64;", 1, EXPR a >= b END},
        OpCase{"setp.eq.b32 pd, a32, b32;", 1, EXPR cut<u32>(a) == cut<u32>(b) END},
        OpCase{"setp.lt.and.s32 pd, a32, b32, pc;", 1, EXPR(cut<s32>(a) < cut<s32>(b)) & c END},
        OpCase{"setp.lt.or.s32 pd, a32, b32, !pc;", 1, EXPR(cut<s32>(a) < cut<s32>(b)) | ~c END},
        OpCase{"setp.lt.xor.u32 pd, a32, b32, pc;", 1, EXPR(cut<u32>(a) < cut<u32>(b)) ^ c END},
        OpCase{"setp.lt.and.s32 pq|pd, a32, b32, pc;", 1, EXPR(cut<s32>(a) >= cut<s32>(b)) & c END},
        OpCase{"set.lt.u32.s32 d32, a32, b32;", 32,
               EXPR(cut<s32>(a) < cut<s32>(b) ? ~u64{0} : 0) END},
        OpCase{"set.gt.and.f32.u32 d32, a32, b32, pc;", 32,
               EXPR((cut<u32>(a) > cut<u32>(b) && c & 1) ? 0x3f800000 : 0) END}));

}  // namespace
}  // namespace gacer::simdevice::test
