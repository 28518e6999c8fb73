// SPDX-License-Identifier: Apache-2.0
// Random values by position: the same seed and index give the same bits on host and device.
#pragma once

#ifdef __CUDACC__
#define GACER_HOST_DEVICE __host__ __device__
#else
#define GACER_HOST_DEVICE
#endif

namespace gacer::kernels {

// The finaliser of MurmurHash3: a bijection that mixes all bits.
GACER_HOST_DEVICE inline unsigned mix_bits(unsigned x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

GACER_HOST_DEVICE inline unsigned hash_at(unsigned seed, long long index) {
  const unsigned low = static_cast<unsigned>(index);
  const unsigned high = static_cast<unsigned>(static_cast<unsigned long long>(index) >> 32);
  return mix_bits(mix_bits(low ^ seed) + high * 0x9e3779b9u + seed);
}

// In [low, high), on a grid of 2^24 steps. Exact operations only, apart from one rounding of the
// product and one of the sum, which host and device do alike.
GACER_HOST_DEVICE inline float uniform_at(unsigned seed, long long index, float low, float high) {
  const float unit = static_cast<float>(hash_at(seed, index) >> 8) * (1.0f / 16777216.0f);
#ifdef __CUDA_ARCH__
  return __fadd_rn(low, __fmul_rn(high - low, unit));
#else
  return low + (high - low) * unit;
#endif
}

}  // namespace gacer::kernels
