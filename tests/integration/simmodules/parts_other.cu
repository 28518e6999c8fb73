// SPDX-License-Identifier: Apache-2.0
__device__ int counted = 100;
static __device__ float own(float x) {
  return x * 2.0f;
}
__device__ float scaled(float x) {
  return own(x);
}
