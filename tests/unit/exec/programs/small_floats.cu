// SPDX-License-Identifier: Apache-2.0
// The functions of cuda_fp16.h, cuda_bf16.h and cuda_fp8.h.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__global__ void h1(__half* a, __half* b, float* f, int* n, int k) {
  int i = threadIdx.x;
  __half x = a[i], y = b[i];
  __half r = __hadd(x, y);
  r = __hmul(r, y);
  r = __hfma(r, x, y);
  r = __hdiv(r, x);
  r = __hsub(r, y);
  r = __hneg(r);
  r = __habs(r);
  r = __hadd_sat(r, x);
  r = __hmul_sat(r, y);
  r = __hfma_sat(r, x, y);
  r = __hfma_relu(r, x, y);
  r = __hmax(r, x);
  r = __hmin(r, y);
  r = __hmax_nan(r, x);
  r = __hmin_nan(r, x);
  r += hsin(x) + hcos(y) + hexp(x) + hexp2(x) + hexp10(x) + hlog(y) + hlog2(y) + hlog10(y) +
       hsqrt(x) + hrsqrt(x) + hrcp(y) + htanh(x) + htanh_approx(x) + hceil(x) + hfloor(x) +
       htrunc(x) + hrint(x);
  if (__hlt(x, y)) r += 1;
  if (__hgtu(x, y)) r -= x;
  if (__hequ(x, y)) r -= x;
  if (__hisnan(x)) r = y;
  if (__hisinf(y)) r = x;
  if (__hne(x, y)) r += y;
  f[i] = __half2float(r);
  n[i] = __half2int_rn(x) + __half2int_rz(y) + __half2int_rd(x) + __half2int_ru(y) +
         __half2uint_rn(x) + __half2ushort_rz(x) + __half2short_ru(y) + (int)__half2ll_rd(x) +
         (int)__half2ull_rn(y) + __half2uchar_rz(x) + __half2char_rz(y);
  a[i] = __int2half_rn(k) + __int2half_rz(k) + __int2half_rd(k) + __int2half_ru(k) +
         __uint2half_ru(k) + __short2half_rd(k) + __ushort2half_rz(k) + __ll2half_rd(k) +
         __ull2half_ru(k) + __float2half_rn(f[i]) + __float2half_rz(f[i]) + __float2half_rd(f[i]) +
         __float2half_ru(f[i]) + __double2half(f[i]);
  unsigned short u = __half_as_ushort(x);
  b[i] = __ushort_as_half(u ^ 1);
  b[i + 32] = __shfl_xor_sync(~0u, x, 3);
  atomicAdd(a + i, x);
  b[i + 64] = __ldg(a + i);
  b[i + 65] = __ldcs(a + i);
  __stwt(b + i, x);
}
__global__ void h2(__half2* a, __half2* b, float2* f, int* n) {
  int i = threadIdx.x;
  __half2 x = a[i], y = b[i];
  __half2 r = __hadd2(x, y);
  r = __hmul2(r, y);
  r = __hfma2(r, x, y);
  r = __h2div(r, x);
  r = __hsub2(r, y);
  r = __hneg2(r);
  r = __habs2(r);
  r = __hadd2_sat(r, x);
  r = __hfma2_sat(r, x, y);
  r = __hfma2_relu(r, x, y);
  r = __hmax2(r, x);
  r = __hmin2(r, y);
  r = __hmax2_nan(r, x);
  r = __hcmadd(r, x, y);
  r = __hadd2(r, h2sin(x));
  r = __hadd2(r, h2cos(x));
  r = __hadd2(r, h2exp(x));
  r = __hadd2(r, h2exp2(x));
  r = __hadd2(r, h2log(x));
  r = __hadd2(r, h2log2(x));
  r = __hadd2(r, h2sqrt(x));
  r = __hadd2(r, h2rsqrt(x));
  r = __hadd2(r, h2rcp(x));
  r = __hadd2(r, h2tanh(x));
  r = __hadd2(r, h2tanh_approx(x));
  r = __hadd2(r, h2floor(x));
  r = __hadd2(r, h2rint(x));
  r = __hadd2(r, __hlt2(x, y));
  r = __hadd2(r, __hgeu2(x, y));
  n[i] = __hbeq2(x, y) + __hbltu2(x, y) + __hble2(x, y) + __heq2_mask(x, y) + __hgtu2_mask(x, y);
  f[i] = __half22float2(r);
  a[i] = __float22half2_rn(f[i + 1]);
  b[i] = __lowhigh2highlow(r);
  b[i + 32] = __halves2half2(__low2half(x), __high2half(y));
  b[i + 64] = __shfl_down_sync(~0u, x, 1);
  atomicAdd(a + i, y);
  a[i + 32] = __half2half2(__high2half(y));
  a[i + 33] = __floats2half2_rn(f[i].x, f[i].y);
}
__global__ void b1(__nv_bfloat16* a, __nv_bfloat16* b, float* f, int* n, int k) {
  int i = threadIdx.x;
  __nv_bfloat16 x = a[i], y = b[i];
  auto r = __hadd(x, y);
  r = __hmul(r, y);
  r = __hfma(r, x, y);
  r = __hdiv(r, x);
  r = __hsub(r, y);
  r = __hneg(r);
  r = __habs(r);
  r = __hadd_sat(r, x);
  r = __hfma_sat(r, x, y);
  r = __hfma_relu(r, x, y);
  r = __hmax(r, x);
  r = __hmin(r, y);
  r = __hmax_nan(r, x);
  r = __hmin_nan(r, x);
  r += hsin(x) + hcos(y) + hexp(x) + hexp2(x) + hexp10(x) + hlog(y) + hlog2(y) + hsqrt(x) +
       hrsqrt(x) + hrcp(y) + htanh(x) + htanh_approx(x) + hceil(x) + hfloor(x) + htrunc(x) +
       hrint(x);
  if (__hlt(x, y)) r += x;
  if (__hgtu(x, y)) r -= x;
  if (__hisnan(x)) r = y;
  if (__hisinf(y)) r = x;
  f[i] = __bfloat162float(r);
  n[i] = __bfloat162int_rn(x) + __bfloat162int_rz(y) + __bfloat162int_rd(x) + __bfloat162int_ru(y) +
         __bfloat162uint_rn(x) + __bfloat162ushort_rz(x) + __bfloat162short_ru(y) +
         (int)__bfloat162ll_rd(x) + (int)__bfloat162ull_rn(y) + __bfloat162uchar_rz(x);
  a[i] = __int2bfloat16_rn(k) + __int2bfloat16_rz(k) + __int2bfloat16_rd(k) + __int2bfloat16_ru(k) +
         __uint2bfloat16_ru(k) + __short2bfloat16_rd(k) + __ushort2bfloat16_rz(k) +
         __ll2bfloat16_rd(k) + __ull2bfloat16_ru(k) + __float2bfloat16_rn(f[i]) +
         __float2bfloat16_rz(f[i]) + __float2bfloat16_rd(f[i]) + __float2bfloat16_ru(f[i]) +
         __double2bfloat16(f[i]);
  b[i + 32] = __shfl_xor_sync(~0u, x, 3);
  atomicAdd(a + i, x);
}
__global__ void b2(__nv_bfloat162* a, __nv_bfloat162* b, float2* f, int* n) {
  int i = threadIdx.x;
  auto x = a[i], y = b[i];
  auto r = __hadd2(x, y);
  r = __hmul2(r, y);
  r = __hfma2(r, x, y);
  r = __h2div(r, x);
  r = __hsub2(r, y);
  r = __hneg2(r);
  r = __habs2(r);
  r = __hadd2_sat(r, x);
  r = __hfma2_sat(r, x, y);
  r = __hfma2_relu(r, x, y);
  r = __hmax2(r, x);
  r = __hmin2(r, y);
  r = __hmax2_nan(r, x);
  r = __hcmadd(r, x, y);
  r = __hadd2(r, h2sin(x));
  r = __hadd2(r, h2exp(x));
  r = __hadd2(r, h2log(x));
  r = __hadd2(r, h2rcp(x));
  r = __hadd2(r, h2tanh(x));
  r = __hadd2(r, h2tanh_approx(x));
  r = __hadd2(r, __hlt2(x, y));
  r = __hadd2(r, __hgeu2(x, y));
  n[i] = __hbeq2(x, y) + __hbltu2(x, y) + __heq2_mask(x, y);
  f[i] = __bfloat1622float2(r);
  a[i] = __float22bfloat162_rn(f[i + 1]);
  atomicAdd(a + i, y);
}
__global__ void f8(__nv_fp8_e4m3* a, __nv_fp8_e5m2* b, float* f, __half* h, __nv_bfloat16* bf,
                   __nv_fp8x4_e4m3* q, float4* f4, __nv_fp8_e8m0* e8) {
  int i = threadIdx.x;
  f[i] = float(a[i]) + float(b[i]);
  a[i] = __nv_fp8_e4m3(f[i + 1]);
  b[i] = __nv_fp8_e5m2(f[i + 1]);
  h[i] = __half(a[i]) + __half(b[i]);
  a[i + 32] = __nv_fp8_e4m3(h[i + 1]);
  b[i + 32] = __nv_fp8_e5m2(bf[i]);
  bf[i] = __nv_bfloat16(a[i]);
  q[i] = __nv_fp8x4_e4m3(f4[i]);
  f4[i + 32] = float4(q[i + 1]);
  a[i + 64] = __nv_fp8_e4m3(i);
  b[i + 64] = __nv_fp8_e5m2(double(i));
  e8[i] = __nv_fp8_e8m0(f[i]);
  f[i + 64] = float(e8[i + 1]);
}
