// SPDX-License-Identifier: Apache-2.0
// Monte Carlo with cuRAND's device generators: pi, a European option against its closed form.
#include <curand_kernel.h>

#include "program.h"

__global__ void pi_hits(unsigned long long seed, int tries, unsigned long long* hits) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  unsigned own = 0;
  for (int i = 0; i < tries; i += 2) {
    const float4 r = curand_uniform4(&state);
    own += r.x * r.x + r.y * r.y <= 1.0f;
    own += r.z * r.z + r.w * r.w <= 1.0f;
  }
  atomicAdd(hits, static_cast<unsigned long long>(own));
}

__global__ void option(unsigned long long seed, int paths, float spot, float strike, float rate,
                       float volatility, float years, double* sum) {
  curandStateXORWOW_t state;
  curand_init(seed, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  double own = 0;
  const float drift = (rate - 0.5f * volatility * volatility) * years;
  for (int i = 0; i < paths; ++i) {
    const float z = curand_normal(&state);
    own += fmaxf(0.0f, spot * __expf(drift + volatility * sqrtf(years) * z) - strike);
  }
  atomicAdd(sum, own * exp(-static_cast<double>(rate) * years));
}

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

int main() {
  constexpr int kBlocks = 16, kThreads = 128, kTries = 64;
  DeviceArray<unsigned long long> hits(1);
  hits.clear();
  pi_hits<<<kBlocks, kThreads>>>(1234, kTries, hits.get());
  CHECK_LAUNCH();
  const double pi = 4.0 * hits.host()[0] / (double(kBlocks) * kThreads * kTries);
  EXPECT(std::fabs(pi - 3.14159265) < 0.03);  // about six standard deviations

  constexpr int kPaths = 64;
  const double spot = 100, strike = 95, rate = 0.03, vol = 0.25, years = 1.5;
  DeviceArray<double> sum(1);
  sum.clear();
  option<<<4, kThreads>>>(99, kPaths, spot, strike, rate, vol, years, sum.get());
  CHECK_LAUNCH();
  const double price = sum.host()[0] / (4.0 * kThreads * kPaths);
  const double d1 =
      (std::log(spot / strike) + (rate + vol * vol / 2) * years) / (vol * std::sqrt(years));
  const double want = spot * normal_cdf(d1) -
                      strike * std::exp(-rate * years) * normal_cdf(d1 - vol * std::sqrt(years));
  EXPECT(std::fabs(price - want) < 1.5);
  return passed("monte_carlo");
}
