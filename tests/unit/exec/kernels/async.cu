// SPDX-License-Identifier: Apache-2.0
// Copies that barriers and pipelines wait for; printf, assert, malloc.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

// Reverses runs of 256 words through shared memory, four ways to wait.
extern "C" __global__ void copies(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int buffer[256];
  auto block = cg::this_thread_block();
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, buffer, in, sizeof(int) * 256, barrier);
  barrier.arrive_and_wait();
  out[i] = buffer[255 - i];
  block.sync();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int stage = 1; stage < 3; ++stage) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, buffer, in + 256 * stage, sizeof(int) * 256, pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    out[256 * stage + i] = buffer[255 - i];
    pipeline.consumer_release();
    block.sync();
  }
  cg::memcpy_async(block, buffer, in + 768, sizeof(int) * 256);
  cg::wait(block);
  out[768 + i] = buffer[255 - i];
}

// Producer warps fill slots that consumer warps empty.
extern "C" __global__ void producer_consumer(const int* in, int* out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier ready[2], filled[2];
  __shared__ int slots[2][64];
  if (threadIdx.x < 2) {
    init(&ready[threadIdx.x], 128);
    init(&filled[threadIdx.x], 128);
  }
  __syncthreads();
  const int lane = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int r = 0; r < rounds; ++r) {
      ready[r % 2].arrive_and_wait();
      slots[r % 2][lane] = in[r * 64 + lane];
      (void)filled[r % 2].arrive();
    }
  } else {
    (void)ready[0].arrive();
    (void)ready[1].arrive();
    for (int r = 0; r < rounds; ++r) {
      filled[r % 2].arrive_and_wait();
      out[r * 64 + lane] = slots[r % 2][63 - lane] * 2;
      (void)ready[r % 2].arrive();
    }
  }
}

extern "C" __global__ void prints(const char* name, int value) {
  if (threadIdx.x != 0) return;
  printf("%s|%5d|%-6s|%*.*f|%c|%x|%lld|%hhd|%%|%p\n", name, value, "ab", 8, 2, 3.14159, 'z', 255,
         -5LL, 300, static_cast<void*>(nullptr));
  printf(
      "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
      "%d %d %d %d\n",
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
      27, 28, 29, 30, 31, 32, 33, 34);
}

extern "C" __global__ void asserts(int limit) {
  assert(static_cast<int>(threadIdx.x) < limit);
}

// Each thread keeps a list of its own on the heap; another kernel may read it.
struct Node {
  int value;
  Node* next;
};
extern "C" __global__ void build_lists(Node** heads, int count) {
  Node* head = nullptr;
  for (int k = 0; k < count; ++k) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) break;
    *node = {static_cast<int>(threadIdx.x) + k, head};
    head = node;
  }
  heads[blockIdx.x * blockDim.x + threadIdx.x] = head;
}
extern "C" __global__ void sum_lists(Node** heads, int* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (Node* node = heads[i]; node != nullptr;) {
    sum += node->value;
    Node* next = node->next;
    free(node);
    node = next;
  }
  sums[i] = sum;
}
