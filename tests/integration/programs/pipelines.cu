// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to shared memory: cuda::pipeline stages, cuda::barrier, cg::memcpy_async;
// cuda::atomic.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "program.h"

// Storage is raw: init() or make_pipeline() constructs it.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
constexpr int kThreads = 128, kStages = 2;

__global__ void two_stages(const float* in, float* out, int tiles) {
  __shared__ float buffer[kStages][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  int fetched = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (; fetched < tiles && fetched < tile + kStages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetched % kStages],
                         in + (blockIdx.x * tiles + fetched) * kThreads, sizeof(float) * kThreads,
                         pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buffer[tile % kStages][(threadIdx.x + tile) % kThreads];
    pipe.consumer_release();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

__global__ void with_barrier(const int* in, int* out) {
  __shared__ int buffer[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, buffer, in + blockIdx.x * kThreads, sizeof buffer, bar);
  bar.arrive_and_wait();
  out[blockIdx.x * kThreads + threadIdx.x] = buffer[kThreads - 1 - threadIdx.x];
  // A second phase of the same barrier.
  auto token = bar.arrive();
  bar.wait(cuda::std::move(token));
  cg::memcpy_async(block, buffer, in, sizeof(int) * 64);
  cg::wait(block);
  if (threadIdx.x < 64) out[blockIdx.x * kThreads + threadIdx.x] += buffer[threadIdx.x];
}

__global__ void tickets(cuda::atomic<int, cuda::thread_scope_device>* next, int* order) {
  const int ticket = next->fetch_add(1, cuda::std::memory_order_acq_rel);
  order[ticket] = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> last(order[gridDim.x * blockDim.x]);
  last.fetch_max(ticket);
}

int main() {
  constexpr int kBlocks = 6, kTiles = 5;
  Random random(37);
  std::vector<float> in(kBlocks * kTiles * kThreads), want(kBlocks * kThreads);
  for (float& v : in) v = float(random.below(64));
  for (int b = 0; b < kBlocks; ++b)
    for (int t = 0; t < kThreads; ++t)
      for (int k = 0; k < kTiles; ++k)
        want[b * kThreads + t] += in[(b * kTiles + k) * kThreads + (t + k) % kThreads];
  DeviceArray<float> din(in), dout(want.size());
  two_stages<<<kBlocks, kThreads>>>(din.get(), dout.get(), kTiles);
  CHECK_LAUNCH();
  EXPECT(same(dout.host(), want));

  std::vector<int> ints(kBlocks * kThreads), mirrored(ints.size());
  for (int& v : ints) v = int(random.below(1000));
  for (int b = 0; b < kBlocks; ++b)
    for (int t = 0; t < kThreads; ++t)
      mirrored[b * kThreads + t] = ints[b * kThreads + kThreads - 1 - t] + (t < 64 ? ints[t] : 0);
  DeviceArray<int> iin(ints), iout(ints.size());
  with_barrier<<<kBlocks, kThreads>>>(iin.get(), iout.get());
  CHECK_LAUNCH();
  EXPECT(same(iout.host(), mirrored));

  DeviceArray<int> counter(1), order(kBlocks * kThreads + 1);
  counter.clear();
  order.clear();
  tickets<<<kBlocks, kThreads>>>(
      reinterpret_cast<cuda::atomic<int, cuda::thread_scope_device>*>(counter.get()), order.get());
  CHECK_LAUNCH();
  auto got = order.host();
  EXPECT(got.back() == kBlocks * kThreads - 1);
  std::vector<int> seen(kBlocks * kThreads);
  for (int i = 0; i < kBlocks * kThreads; ++i) ++seen[got[i]];
  EXPECT(same(seen, std::vector<int>(seen.size(), 1)));
  return passed("pipelines");
}
