// SPDX-License-Identifier: Apache-2.0
// Histograms: 256 bins with shared-memory atomics from packed words, and wide bins in global
// memory.
#include "program.h"

constexpr int kBins = 256, kWarps = 6;

__global__ void bytes_histogram(const uint4* in, int words, unsigned* partial) {
  __shared__ unsigned bins[kWarps][kBins];
  for (int i = threadIdx.x; i < kWarps * kBins; i += blockDim.x) (&bins[0][0])[i] = 0;
  __syncthreads();
  unsigned* own = bins[threadIdx.x / 32];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    const uint4 four = in[i];
    for (unsigned word : {four.x, four.y, four.z, four.w})
      for (int b = 0; b < 4; ++b) atomicAdd(&own[word >> 8 * b & 255], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    unsigned sum = 0;
    for (auto& warp : bins) sum += warp[bin];
    partial[blockIdx.x * kBins + bin] = sum;
  }
}

__global__ void merge(const unsigned* partial, int blocks, unsigned* out) {
  unsigned sum = 0;
  for (int i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i * kBins + blockIdx.x];
  __shared__ unsigned part[64];
  part[threadIdx.x] = sum;
  for (int half = 32; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void weights(const float* value, int n, float* bins, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bin = min(count - 1, __float2int_rd(value[i] * count));
  atomicAdd(&bins[bin], 0.5f);
}

int main() {
  constexpr int kWords = 30000, kBlocks = 40;
  std::vector<unsigned> words(kWords * 4);
  std::vector<unsigned> want(kBins);
  Random random(2);
  for (unsigned& word : words) {
    word = random.next() & random.next();
    for (int b = 0; b < 4; ++b) ++want[word >> 8 * b & 255];
  }
  DeviceArray<unsigned> in(words), partial(kBlocks * kBins), out(kBins);
  bytes_histogram<<<kBlocks, kWarps * 32>>>(reinterpret_cast<uint4*>(in.get()), kWords,
                                            partial.get());
  merge<<<kBins, 64>>>(partial.get(), kBlocks, out.get());
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want));

  constexpr int kValues = 50000, kWide = 1000;
  std::vector<float> values(kValues);
  std::vector<float> sums(kWide);
  for (float& value : values) {
    value = random.unit();
    sums[std::min(kWide - 1, static_cast<int>(std::floor(value * kWide)))] += 0.5f;
  }
  DeviceArray<float> vin(values), bins(kWide);
  bins.clear();
  weights<<<(kValues + 127) / 128, 128>>>(vin.get(), kValues, bins.get(), kWide);
  CHECK_LAUNCH();
  EXPECT(same(bins.host(), sums));
  return passed("histogram");
}
