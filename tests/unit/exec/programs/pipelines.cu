// SPDX-License-Identifier: Apache-2.0
// Barriers and pipelines of libcu++.
#include <cooperative_groups.h>
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void bar(int* o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, blockDim.x);
  __syncthreads();
  auto t = b.arrive();
  o[threadIdx.x] = 1;
  b.wait(std::move(t));
  b.arrive_and_wait();
}
__global__ void pipe(int* o, const int* in) {
  __shared__ int s[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto g = cg::this_thread_block();
  auto p = cuda::make_pipeline(g, &st);
  for (int k = 0; k < 4; k++) {
    p.producer_acquire();
    cuda::memcpy_async(g, s[k & 1], in + k * 128, cuda::aligned_size_t<16>(sizeof(int) * 128), p);
    p.producer_commit();
    p.consumer_wait();
    o[threadIdx.x] += s[k & 1][threadIdx.x];
    p.consumer_release();
  }
}
__global__ void prim(int* o, const int* in) {
  __shared__ int s[128];
  __pipeline_memcpy_async(s + threadIdx.x, in + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[threadIdx.x] = s[127 - threadIdx.x];
}
