// SPDX-License-Identifier: Apache-2.0
// The device generators of cuRAND.
#include <curand_kernel.h>
template <class S>
__device__ void use(S* s, float* o) {
  int i = threadIdx.x;
  curand_init(1234, i, 0, s + i);
  o[i] = curand_uniform(s + i) + curand_normal(s + i) + curand_log_normal(s + i, 0, 1) +
         curand(s + i) + curand_poisson(s + i, 3.5) + (float)curand_uniform_double(s + i) +
         (float)curand_normal_double(s + i);
  float2 n = curand_normal2(s + i);
  o[i] += n.x * n.y;
}
__global__ void xorwow(curandState* s, float* o) {
  use(s, o);
}
__global__ void philox(curandStatePhilox4_32_10_t* s, float* o) {
  use(s, o);
  float4 f = curand_uniform4(s);
  o[3] = f.w;
}
__global__ void mrg(curandStateMRG32k3a* s, float* o) {
  use(s, o);
}
__global__ void sobol(curandStateSobol32* s, curandDirectionVectors32_t* d, float* o) {
  curand_init(d[0], 5, s);
  o[0] = curand_uniform(s) + curand_normal(s);
}
__global__ void mtgp(curandStateMtgp32* s, float* o) {
  o[threadIdx.x] = curand_uniform(s);
}
