// SPDX-License-Identifier: Apache-2.0
// Attention of one new token against a cache, a block per (sequence, head).
// Whole-sequence attention is built from gemm and softmax kernels.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

constexpr int kDecodeThreads = block_size::attention_decode;
constexpr int kDecodeWarps = kDecodeThreads / 32;
constexpr int kMaxHeadDim = 128;

__device__ __forceinline__ void score_positions(const float* query, const float* keys,
                                                const DecodeAttentionArgs& a, float* scores) {
  const int lane = threadIdx.x % 32;
  for (int t = threadIdx.x / 32; t < a.length; t += kDecodeWarps) {
    const float* key = keys + static_cast<long long>(t) * a.head_dim;
    float dot = 0.0f;
    for (int d = lane; d < a.head_dim; d += 32) dot = fmaf(query[d], key[d], dot);
    dot = warp_sum(dot);
    if (lane == 0) scores[t] = dot * a.scale;
  }
}

// Turns scores into exponentials and returns the factor that makes them sum to one.
__device__ __forceinline__ float exponentials(float* scores, int length, float* scratch) {
  float best = -3.402823466e38f;
  for (int t = threadIdx.x; t < length; t += kDecodeThreads) best = fmaxf(best, scores[t]);
  best = block_max<kDecodeWarps>(best, scratch);
  float sum = 0.0f;
  for (int t = threadIdx.x; t < length; t += kDecodeThreads) {
    scores[t] = expf(scores[t] - best);
    sum += scores[t];
  }
  return 1.0f / block_sum<kDecodeWarps>(sum, scratch);
}

// Dynamic shared memory: `length` floats.
GACER_GLOBAL(attention_decode)(DecodeAttentionArgs a) {
  extern __shared__ float scores[];
  __shared__ float query[kMaxHeadDim];
  __shared__ float partial[kDecodeThreads];
  __shared__ float scratch[kDecodeWarps];
  const int head = blockIdx.x, sequence = blockIdx.y;
  const int hidden = a.heads * a.head_dim;
  const float* qkv = a.qkv + static_cast<long long>(sequence) * 3 * hidden + head * a.head_dim;
  const long long cache =
      (static_cast<long long>(sequence) * a.heads + head) * a.capacity * a.head_dim;
  float* keys = a.key_cache + cache;
  float* values = a.value_cache + cache;
  const int thread = threadIdx.x;

  if (thread < a.head_dim) {
    const long long last = static_cast<long long>(a.length - 1) * a.head_dim + thread;
    query[thread] = qkv[thread];
    keys[last] = qkv[hidden + thread];
    values[last] = qkv[2 * hidden + thread];
  }
  __syncthreads();
  score_positions(query, keys, a, scores);
  __syncthreads();
  const float scale = exponentials(scores, a.length, scratch);

  const int groups = kDecodeThreads / a.head_dim;
  const int group = thread / a.head_dim, d = thread % a.head_dim;
  float sum = 0.0f;
  if (group < groups)
    for (int t = group; t < a.length; t += groups)
      sum = fmaf(scores[t], values[static_cast<long long>(t) * a.head_dim + d], sum);
  partial[thread] = sum;
  __syncthreads();
  if (thread >= a.head_dim) return;
  for (int g = 1; g < groups; ++g) sum += partial[g * a.head_dim + thread];
  a.output[static_cast<long long>(sequence) * hidden + head * a.head_dim + thread] = sum * scale;
}

}  // namespace gacer::kernels
