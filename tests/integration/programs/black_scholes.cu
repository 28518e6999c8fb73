// SPDX-License-Identifier: Apache-2.0
// Option prices with math functions in single and double precision.
#include "program.h"

template <typename T>
__device__ T cdf(T x) {
  return T(0.5) * erfc(-x * T(0.70710678118654752));
}

template <typename T>
__global__ void prices(const T* spot, const T* strike, const T* years, T* call, T* put, T rate,
                       T vol, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T root = sqrt(years[i]);
  const T d1 = (log(spot[i] / strike[i]) + (rate + T(0.5) * vol * vol) * years[i]) / (vol * root);
  const T d2 = d1 - vol * root, discount = exp(-rate * years[i]);
  call[i] = spot[i] * cdf(d1) - strike[i] * discount * cdf(d2);
  put[i] = strike[i] * discount * cdf(-d2) - spot[i] * cdf(-d1);
}

template <typename T>
void check(double relative) {
  constexpr int kCount = 3000;
  const T rate = T(0.02), vol = T(0.3);
  Random random(8);
  std::vector<T> spot(kCount), strike(kCount), years(kCount), call(kCount), put(kCount);
  for (int i = 0; i < kCount; ++i) {
    spot[i] = T(5) + 25 * random.unit(), strike[i] = T(1) + 99 * random.unit();
    years[i] = T(0.25) + 9 * random.unit();
    const double s = spot[i], k = strike[i], t = years[i], r = rate, v = vol;
    const double d1 = (std::log(s / k) + (r + v * v / 2) * t) / (v * std::sqrt(t)),
                 d2 = d1 - v * std::sqrt(t);
    auto n = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    call[i] = T(s * n(d1) - k * std::exp(-r * t) * n(d2));
    put[i] = T(k * std::exp(-r * t) * n(-d2) - s * n(-d1));
  }
  DeviceArray<T> ds(spot), dk(strike), dt(years), dcall(kCount), dput(kCount);
  prices<T><<<(kCount + 127) / 128, 128>>>(ds.get(), dk.get(), dt.get(), dcall.get(), dput.get(),
                                           rate, vol, kCount);
  CHECK_LAUNCH();
  EXPECT(same(dcall.host(), call, relative, relative * 30));
  EXPECT(same(dput.host(), put, relative, relative * 30));
}

int main() {
  check<float>(2e-6);
  check<double>(1e-14);
  return passed("black_scholes");
}
