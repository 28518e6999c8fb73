// SPDX-License-Identifier: Apache-2.0
// Vector types, cache hints, warp functions, integer and float intrinsics.
#include <cuComplex.h>
#include <cuda_runtime.h>
__global__ void simple(float4* a, const double2* __restrict__ b, uchar4* c, ushort2* s, long2* l,
                       float3* t, char2* k, short* h, bool* q) {
  int i = threadIdx.x;
  float4 v = a[i];
  v.x += b[i].x;
  a[i + 1] = v;
  c[i] = make_uchar4(i, 2, 3, c[i].w + 1);
  s[i].x += 3;
  l[i].y -= l[i].x;
  t[i].z = t[i].x * t[i].y;
  k[i].x++;
  h[i] = h[i] * h[i] + h[i + 1] / 3;
  q[i] = q[i + 1] != (h[i] > 3);
}
__global__ void cplx(cuFloatComplex* a, cuDoubleComplex* b) {
  a[0] = cuCmulf(a[1], cuCdivf(a[2], a[3]));
  b[0] = cuCdiv(b[1], cuCadd(b[2], b[3]));
  a[4].x = cuCabsf(a[5]);
  b[5].x = cuCabs(b[6]);
}
__global__ void caches(int* a, const int* b, int4* c) {
  a[0] = __ldg(b) + __ldcg(b) + __ldca(b) + __ldcs(b) + __ldlu(b) + __ldcv(b);
  __stwb(a, 1);
  __stcg(a + 1, 2);
  __stcs(a + 2, 3);
  __stwt(a + 3, 4);
  c[0] = __ldg(c + 1);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
  int x;
  asm volatile("ld.global.L1::evict_last.L2::128B.s32 %0,[%1];" : "=r"(x) : "l"(b));
  a[5] = x;
  asm volatile("{.reg .pred p; setp.ne.s32 p,%1,0; @p st.volatile.global.s32 [%0],%1;}" ::"l"(a),
               "r"(x));
}
__global__ void warps(int* o, float f) {
  int i = threadIdx.x;
  unsigned m = __activemask();
  o[i] = __ballot_sync(m, i & 1) + __any_sync(m, i) + __all_sync(m, i) + __shfl_sync(m, i, 3) +
         __shfl_up_sync(m, i, 1, 16) + __match_any_sync(m, i / 2) + (int)__shfl_xor_sync(m, f, 1) +
         (int)__shfl_down_sync(m, (double)f, 2) + (int)__shfl_sync(m, (long long)i, 0);
#if __CUDA_ARCH__ >= 800
  o[i] += __reduce_add_sync(m, i) + __reduce_max_sync(m, i) + __reduce_and_sync(m, (unsigned)i);
#endif
  int p;
  o[i] += __match_all_sync(m, 7, &p) + p;
  __syncwarp(m);
  o[i] += __syncthreads_count(i & 1) + __syncthreads_and(i) + __syncthreads_or(i);
  unsigned l;
  asm("mov.u32 %0,%%lanemask_lt;" : "=r"(l));
  o[i] += __popc(l & m);
  o[i] += __isGlobal(o) + __isShared(o) + __isLocal(o) + __isConstant(o);
  o[i] += (int)__cvta_generic_to_global(o);
}
__device__ float fsum(float* p, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) s += p[i];
  return s;
}
__global__ void localarr(float* o, int n) {
  float a[64];
  for (int i = 0; i < 64; i++) a[i] = o[i];
  o[n] = fsum(a, n) + fsum(o, n);
  volatile float v[8];
  v[n & 7] = 3;
  o[1] = v[(n + 1) & 7];
}
extern "C" __global__ void fast(float* o, const float* a, const float* b) {
  int i = threadIdx.x;
  o[i] = __sinf(a[i]) + __cosf(a[i]) + __tanf(a[i]) + __expf(a[i]) + __exp10f(b[i]) + __logf(b[i]) +
         __log2f(b[i]) + __log10f(b[i]) + __powf(a[i], b[i]) + __fdividef(a[i], b[i]) +
         __frcp_rd(a[i]) + __frcp_ru(a[i]) + __fsqrt_rz(b[i]) + __frsqrt_rn(b[i]) +
         __saturatef(a[i]) + __fadd_rd(a[i], b[i]) + __fsub_ru(a[i], b[i]) + __fmul_rz(a[i], b[i]) +
         __fmaf_rd(a[i], b[i], a[i]) + __fdiv_ru(a[i], b[i]) + __fmaf_ieee_rn(a[i], b[i], a[i]) +
         __tanhf(a[i]);
  float s, c;
  __sincosf(a[i], &s, &c);
  o[i] += s * c;
}
extern "C" __global__ void ints(unsigned* o, const int* a, const unsigned* b, long long* l,
                                unsigned long long* u, const float* f, const double* d) {
  int i = threadIdx.x;
  unsigned x = b[i];
  int y = a[i];
  o[i] = __clz(y) + __ffs(y) + __popc(x) + __brev(x) + __byte_perm(x, y, 0x3614) + __mulhi(y, 3) +
         __umulhi(x, y) + __mul24(y, y) + __umul24(x, x) + __sad(y, 7, x) + __usad(x, 3, x) +
         __funnelshift_l(x, y, 5) + __funnelshift_r(x, y, 37) + __funnelshift_lc(x, y, x) +
         __hadd(y, y) + __rhadd(y, y) + __uhadd(x, x) + __urhadd(x, x) + abs(y) + min(y, 3) +
         max(x, 3u) + __dp4a(y, y, y) + __dp2a_lo(y, y, y) + __dp2a_hi(x, x, x) + __fns(x, 3, 2);
  l[i] = __clzll(l[i]) + __ffsll(l[i]) + __popcll(l[i]) + __brevll(u[i]) + __mul64hi(l[i], l[i]) +
         __umul64hi(u[i], u[i]) + llabs(l[i]) + llmax(l[i], 3) + l[i] / u[i] + l[i] % 7;
  o[i] += __vadd2(x, y) + __vadd4(x, y) + __vabsdiffs4(x, y) + __vabsdiffu4(x, y) + __vavgs2(x, y) +
          __vavgu4(x, y) + __vcmpeq4(x, y) + __vcmpgts2(x, y) + __vmaxs2(x, y) + __vmaxu4(x, y) +
          __vmins4(x, y) + __vneg2(x) + __vsadu4(x, y) + __vsads2(x, y) + __vseteq2(x, y) +
          __vsub4(x, y) + __vsubss2(x, y) + __vaddus4(x, y) + __vabs4(x) + __viaddmax_s32(y, y, y) +
          __vimax3_s32(y, y, 3) + __vimin_s32_relu(y, y) +
          __vibmax_u32(x, 3, (bool*)0 + 0 ? 0 : (bool*)l) + __viaddmin_s16x2_relu(x, x, x) +
          __vimax3_u16x2(x, x, x);
  o[i] += __float2int_rn(f[i]) + __float2int_ru(f[i]) + __float2uint_rz(f[i]) +
          __float2ll_rd(f[i]) + __float2ull_ru(f[i]) + __double2int_rn(d[i]) +
          __double2uint_ru(d[i]) + __double2ll_rd(d[i]) + __double2ull_rz(d[i]) +
          __double2hiint(d[i]) + __double2loint(d[i]) + __float_as_int(f[i]) +
          __double_as_longlong(d[i]) + __double2float_ru(d[i]) + __int2float_rd(y) +
          __uint2float_ru(x) + __ll2float_rz(l[i]) + __ull2double_ru(u[i]) + __int2double_rn(y) +
          __ll2double_rd(l[i]) + __hiloint2double(y, y) + __dadd_rd(d[i], d[i]) +
          __dmul_ru(d[i], d[i]) + __fma_rz(d[i], d[i], d[i]) + __ddiv_ru(d[i], d[i]) +
          __drcp_rd(d[i]) + __dsqrt_ru(d[i]);
}
