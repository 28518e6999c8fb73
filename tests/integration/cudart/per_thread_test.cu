// SPDX-License-Identifier: Apache-2.0
// Compiled with --default-stream per-thread: stream 0 is each thread's own, which no other thread's
// work delays.
#include <atomic>
#include <thread>

#include "tests/integration/cudart/cuda_test.h"

namespace {

__global__ void set(int* out, int value) {
  *out = value;
}

void CUDART_CB wait_for(void* flag) {
  while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
}

TEST(PerThread, AThreadsDefaultStreamDoesNotWaitForAnother) {
  DeviceBuffer<int> mine(1), theirs(1);
  std::atomic<bool> go{false};
  ASSERT_CUDA(cudaLaunchHostFunc(nullptr, wait_for, &go));  // holds this thread's stream
  set<<<1, 1>>>(mine.get(), 1);
  EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(nullptr));
  std::thread([&] {
    set<<<1, 1>>>(theirs.get(), 2);
    int host = 0;
    EXPECT_CUDA(cudaMemcpyAsync(&host, theirs.get(), 4, cudaMemcpyDeviceToHost));
    EXPECT_CUDA(cudaStreamSynchronize(nullptr));
    EXPECT_EQ(2, host);
  }).join();
  EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread))
      << "the same stream by its other name";
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(1, mine.read()[0]);
}

TEST(PerThread, TheLegacyStreamStillWaitsForAllThreads) {
  DeviceBuffer<int> out(1);
  std::atomic<bool> go{false};
  ASSERT_CUDA(cudaLaunchHostFunc(nullptr, wait_for, &go));
  set<<<1, 1>>>(out.get(), 5);
  set<<<1, 1, 0, cudaStreamLegacy>>>(out.get(), 6);
  EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(cudaStreamLegacy));
  go = true;
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  EXPECT_EQ(6, out.read()[0]);
}

}  // namespace
