// SPDX-License-Identifier: Apache-2.0
// Half, bfloat16, fp8 and integers: conversions, packed arithmetic, intrinsics with rounding, dp4a.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cfenv>

#include "program.h"

__global__ void halves(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 a = __floats2half2_rn(in[i], -in[i]), b = __half2half2(__float2half(1.5f));
  const __half2 c = __hfma2(a, b, __float2half2_rn(0.25f));
  const __nv_bfloat16 d = __float2bfloat16(in[i]);
  const __nv_fp8_e4m3 e(in[i]);
  const __nv_fp8_e5m2 f(in[i]);
  float* o = out + 7 * i;
  o[0] = __low2float(c), o[1] = __high2float(c);
  o[2] = __bfloat162float(__hmul(d, d));
  o[3] = float(e), o[4] = float(f);
  o[5] = __hgt(__low2half(a), __high2half(a)) ? 1 : 0;
  o[6] = __half2float(hsqrt(__habs(__low2half(a))));
}

__global__ void rounding(const double* a, const double* b, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double* o = out + 8 * i;
  o[0] = __dadd_ru(a[i], b[i]), o[1] = __dadd_rd(a[i], b[i]), o[2] = __dmul_rz(a[i], b[i]);
  o[3] = __ddiv_rn(a[i], b[i]), o[4] = __dsqrt_ru(fabs(a[i])), o[5] = __fma_rd(a[i], b[i], a[i]);
  o[6] = double(__double2float_ru(a[i])), o[7] = double(__double2ll_rz(a[i] * 1e6));
}

__global__ void integers(const int* a, const int* b, long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long* o = out + 10 * i;
  const unsigned ua = unsigned(a[i]), ub = unsigned(b[i]);
  o[0] = __mulhi(a[i], b[i]), o[1] = __umulhi(ua, ub), o[2] = __dp4a(a[i], b[i], 7);
  o[3] = __popc(ua), o[4] = __clz(a[i]), o[5] = __ffs(a[i]), o[6] = __brev(ua);
  o[7] = __byte_perm(ua, ub, 0x3715), o[8] = __funnelshift_l(ua, ub, ub & 31);
  o[9] = static_cast<long long>(
      __mul64hi((static_cast<long long>(a[i]) << 32) | ub, 0x123456789abcdefll));
}

int main() {
  constexpr int kCount = 1000;
  Random random(39);
  std::vector<float> f(kCount), fw(7 * kCount);
  std::vector<double> a(kCount), b(kCount), dw(8 * kCount);
  std::vector<int> ia(kCount), ib(kCount);
  std::vector<long long> iw(10 * kCount);
  for (int i = 0; i < kCount; ++i) {
    f[i] = (random.unit() - 0.5f) * 20;
    a[i] = (random.next() / 4294967296.0 - 0.5) * 100, b[i] = random.next() / 4294967296.0 + 0.01;
    ia[i] = int(random.next()), ib[i] = int(random.next());
    const float h = __half2float(__float2half(f[i])), hn = __half2float(__float2half(-f[i]));
    fw[7 * i] = __half2float(__float2half(h * 1.5f + 0.25f)),
           fw[7 * i + 1] = __half2float(__float2half(hn * 1.5f + 0.25f));
    const float d = __bfloat162float(__float2bfloat16(f[i]));
    fw[7 * i + 2] = __bfloat162float(__float2bfloat16(d * d));
    fw[7 * i + 3] = float(__nv_fp8_e4m3(f[i])), fw[7 * i + 4] = float(__nv_fp8_e5m2(f[i]));
    fw[7 * i + 5] = h > hn;
    fw[7 * i + 6] = __half2float(__float2half(std::sqrt(std::fabs(h))));
    double* o = &dw[8 * i];
    volatile double x = a[i], y = b[i];
    std::fesetround(FE_UPWARD);
    o[0] = x + y, o[4] = std::sqrt(std::fabs(x)), o[6] = double(static_cast<float>(x));
    std::fesetround(FE_DOWNWARD);
    o[1] = x + y, o[5] = std::fma(x, y, x);
    std::fesetround(FE_TOWARDZERO);
    o[2] = x * y;
    std::fesetround(FE_TONEAREST);
    o[3] = x / y, o[7] = double(static_cast<long long>(x * 1e6));
    long long* w = &iw[10 * i];
    const unsigned ua = unsigned(ia[i]), ub = unsigned(ib[i]);
    w[0] = (static_cast<long long>(ia[i]) * ib[i]) >> 32,
    w[1] = static_cast<long long>((static_cast<unsigned long long>(ua) * ub) >> 32);
    w[2] = 7;
    for (int k = 0; k < 4; ++k)
      w[2] += static_cast<signed char>(ua >> 8 * k) * static_cast<signed char>(ub >> 8 * k);
    w[3] = __builtin_popcount(ua), w[4] = ua ? __builtin_clz(ua) : 32, w[5] = __builtin_ffs(ia[i]);
    unsigned reversed = 0;
    for (int k = 0; k < 32; ++k) reversed |= (ua >> k & 1) << (31 - k);
    w[6] = reversed;
    const unsigned long long both = static_cast<unsigned long long>(ub) << 32 | ua;
    unsigned permuted = 0;
    for (int k = 0; k < 4; ++k)
      permuted |= unsigned(both >> 8 * (0x3715 >> 4 * k & 7) & 255) << 8 * k;
    w[7] = permuted;
    const unsigned shift = ub & 31;
    w[8] = static_cast<unsigned>((both << shift) >> 32);
    w[9] = static_cast<long long>(
        (static_cast<__int128>((static_cast<long long>(ia[i]) << 32) | ub) * 0x123456789abcdefll) >>
        64);
  }
  DeviceArray<float> fin(f), fout(fw.size());
  halves<<<8, 128>>>(fin.get(), fout.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(same(fout.host(), fw));
  DeviceArray<double> da(a), db(b), dout(dw.size());
  rounding<<<8, 128>>>(da.get(), db.get(), dout.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(same(dout.host(), dw));
  DeviceArray<int> dia(ia), dib(ib);
  DeviceArray<long long> iout(iw.size());
  integers<<<8, 128>>>(dia.get(), dib.get(), iout.get(), kCount);
  CHECK_LAUNCH();
  const auto got = iout.host();
  for (size_t i = 0; i < iw.size(); ++i) EXPECT(got[i] == iw[i]);
  return passed("number_formats");
}
