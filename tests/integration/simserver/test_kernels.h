// SPDX-License-Identifier: Apache-2.0
// Hand-written PTX for the server tests.
#pragma once

#include <string_view>

namespace gacer::simdevice::test {

// 0 scale_add(u64 dst, u64 src, u64 factor): dst[i] = src[i] * factor + i as u32, one element a
// thread 1 spin(u64 iterations): a loop 2 store_at(u64 address): stores 1 there 3 trap() 4
// use_table(u64 dst): dst[i] = table[i % 4] + counter, from module variables
inline constexpr std::string_view kTestPtx = R"(
.version 7.0
.target sm_70
.address_size 64

.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.global .align 4 .u32 counter = 5;

.visible .entry scale_add(.param .u64 p_dst, .param .u64 p_src, .param .u64 p_factor)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [p_dst];
  ld.param.u64 %rd2, [p_src];
  ld.param.u32 %r1, [p_factor];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  mad.lo.s32 %r7, %r6, %r1, %r5;
  add.s64 %rd5, %rd1, %rd3;
  st.global.u32 [%rd5], %r7;
  ret;
}

.visible .entry spin(.param .u64 p_iterations)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [p_iterations];
  mov.u32 %r2, 0;
LOOP:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra LOOP;
  ret;
}

.visible .entry store_at(.param .u64 p_address)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p_address];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry trap()
{
  trap;
}

.visible .entry use_table(.param .u64 p_dst)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [p_dst];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 3;
  mul.wide.u32 %rd2, %r2, 4;
  mov.u64 %rd3, table;
  add.s64 %rd4, %rd3, %rd2;
  ld.const.u32 %r3, [%rd4];
  ld.global.u32 %r4, [counter];
  add.u32 %r5, %r3, %r4;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r5;
  ret;
}
)";

enum TestKernel : unsigned { kScaleAdd, kSpin, kStoreAt, kTrap, kUseTable };

}  // namespace gacer::simdevice::test
