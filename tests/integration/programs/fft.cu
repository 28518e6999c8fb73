// SPDX-License-Identifier: Apache-2.0
// Radix-2 FFT in shared memory (one block a signal) with sincospi, and its inverse; complex
// numbers.
#include <cuComplex.h>

#include <complex>

#include "program.h"

constexpr int kPoints = 256;

__global__ void fft(cuFloatComplex* data, float direction) {
  __shared__ cuFloatComplex s[kPoints];
  cuFloatComplex* signal = data + blockIdx.x * kPoints;
  const int t = threadIdx.x;
  constexpr int kBits = 8;
  for (int i = t; i < kPoints; i += blockDim.x) s[__brev(i) >> (32 - kBits)] = signal[i];
  for (int half = 1; half < kPoints; half *= 2) {
    __syncthreads();
    const int k = t & (half - 1), top = (t - k) * 2 + k;
    float sine, cosine;
    sincospif(direction * k / half, &sine, &cosine);
    const cuFloatComplex turned = cuCmulf(s[top + half], make_cuFloatComplex(cosine, sine));
    const cuFloatComplex kept = s[top];
    s[top] = cuCaddf(kept, turned);
    s[top + half] = cuCsubf(kept, turned);
  }
  __syncthreads();
  for (int i = t; i < kPoints; i += blockDim.x) signal[i] = s[i];
}

__global__ void scale(cuFloatComplex* data, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i].x *= factor, data[i].y *= factor;
}

int main() {
  constexpr int kSignals = 6;
  Random random(23);
  std::vector<cuFloatComplex> values(kSignals * kPoints);
  for (auto& v : values) v = make_cuFloatComplex(random.unit() - 0.5f, random.unit() - 0.5f);
  DeviceArray<cuFloatComplex> data(values);
  fft<<<kSignals, kPoints / 2>>>(data.get(), -1.0f);
  CHECK_LAUNCH();
  const auto spectrum = data.host();
  for (int signal : {0, kSignals - 1})
    for (int k = 0; k < kPoints; k += 7) {
      std::complex<double> sum = 0;
      for (int i = 0; i < kPoints; ++i)
        sum +=
            std::complex<double>(values[signal * kPoints + i].x, values[signal * kPoints + i].y) *
            std::polar(1.0, -2 * 3.14159265358979323846 * k * i / kPoints);
      EXPECT(std::abs(sum - std::complex<double>(spectrum[signal * kPoints + k].x,
                                                 spectrum[signal * kPoints + k].y)) < 1e-4);
    }
  fft<<<kSignals, kPoints / 2>>>(data.get(), 1.0f);
  scale<<<kSignals, kPoints>>>(data.get(), 1.0f / kPoints);
  CHECK_LAUNCH();
  const auto back = data.host();
  for (size_t i = 0; i < back.size(); ++i)
    EXPECT(std::fabs(back[i].x - values[i].x) < 1e-5 && std::fabs(back[i].y - values[i].y) < 1e-5);
  return passed("fft");
}
