// SPDX-License-Identifier: Apache-2.0
// Block-wide and warp-wide primitives of CUB.
#include <cub/cub.cuh>
__global__ void red(int* o, const int* in) {
  typedef cub::BlockReduce<int, 128> R;
  __shared__ typename R::TempStorage t;
  int v = R(t).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) o[0] = v;
}
__global__ void scan(int* o) {
  typedef cub::BlockScan<int, 128> S;
  __shared__ typename S::TempStorage t;
  int v = o[threadIdx.x];
  S(t).ExclusiveSum(v, v);
  o[threadIdx.x] = v;
}
__global__ void sort(int* o) {
  typedef cub::BlockRadixSort<int, 128, 4> S;
  __shared__ typename S::TempStorage t;
  int k[4];
  for (int i = 0; i < 4; i++) k[i] = o[threadIdx.x * 4 + i];
  S(t).Sort(k);
  for (int i = 0; i < 4; i++) o[threadIdx.x * 4 + i] = k[i];
}
__global__ void msort(double* o) {
  typedef cub::BlockMergeSort<double, 128, 4> S;
  __shared__ typename S::TempStorage t;
  double k[4];
  for (int i = 0; i < 4; i++) k[i] = o[threadIdx.x * 4 + i];
  S(t).Sort(k, [] __device__(double a, double b) { return a < b; });
  for (int i = 0; i < 4; i++) o[threadIdx.x * 4 + i] = k[i];
}
__global__ void hist(unsigned* h, const unsigned char* s) {
  typedef cub::BlockHistogram<unsigned char, 128, 4, 256> H;
  __shared__ typename H::TempStorage t;
  unsigned char v[4];
  for (int i = 0; i < 4; i++) v[i] = s[threadIdx.x * 4 + i];
  H(t).Histogram(v, h);
}
__global__ void wr(float* o) {
  typedef cub::WarpReduce<float> W;
  __shared__ typename W::TempStorage t[4];
  float v = W(t[threadIdx.x / 32]).Reduce(o[threadIdx.x], [] __device__(float a, float b) {
    return a > b ? a : b;
  });
  o[threadIdx.x] = v;
}
__global__ void ld(int4* o, const int* in) {
  typedef cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> L;
  typedef cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE> St;
  __shared__ typename L::TempStorage t;
  __shared__ typename St::TempStorage u;
  int v[4];
  L(t).Load(in, v, 400, 7);
  St(u).Store((int*)o, v, 400);
}
__global__ void ws(long long* o) {
  typedef cub::WarpScan<long long> W;
  __shared__ typename W::TempStorage t[4];
  long long v;
  W(t[threadIdx.x / 32]).InclusiveSum(o[threadIdx.x], v);
  o[threadIdx.x] = v;
}
