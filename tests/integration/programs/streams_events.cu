// SPDX-License-Identifier: Apache-2.0
// Order between streams: events, the legacy default stream, host functions, elapsed times.
#include <atomic>

#include "program.h"

__global__ void spin(long long cycles, int* out, int value) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  *out = value;
}

__global__ void add_to(const int* in, int* out) {
  *out = *in + 1;
}

struct Note {
  std::atomic<int> step{0};
};

void CUDART_CB host_step(void* data) {
  static_cast<Note*>(data)->step.fetch_add(1);
}

void CUDART_CB old_callback(cudaStream_t, cudaError_t status, void* data) {
  if (status == cudaSuccess) static_cast<Note*>(data)->step.fetch_add(10);
}

int main() {
  cudaStream_t a, b, apart;
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least >= greatest);
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreateWithPriority(&b, cudaStreamDefault, greatest));
  CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  cudaEvent_t begin, end, ready;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  DeviceArray<int> cells(4);
  cells.clear();

  // b waits for what a has written.
  CHECK(cudaEventRecord(begin, a));
  spin<<<1, 1, 0, a>>>(200000, cells.get(), 41);
  CHECK(cudaEventRecord(end, a));
  CHECK(cudaEventRecord(ready, a));
  CHECK(cudaStreamWaitEvent(b, ready, 0));
  add_to<<<1, 1, 0, b>>>(cells.get(), cells.get() + 1);
  CHECK(cudaStreamSynchronize(b));
  EXPECT(cells.host()[1] == 42);
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0.05f);  // 200000 cycles at not more than 4 GHz
  EXPECT(cudaEventElapsedTime(&ms, begin, ready) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(end));

  // The legacy stream waits for blocking streams and they for it; a non-blocking one stands apart.
  spin<<<1, 1, 0, a>>>(100000, cells.get(), 6);
  add_to<<<1, 1>>>(cells.get(), cells.get() + 2);
  add_to<<<1, 1, 0, b>>>(cells.get() + 2, cells.get() + 3);
  CHECK(cudaStreamSynchronize(b));
  EXPECT(cells.host()[2] == 7 && cells.host()[3] == 8);
  CHECK(cudaStreamQuery(apart));

  Note note;
  CHECK(cudaLaunchHostFunc(a, host_step, &note));
  CHECK(cudaStreamAddCallback(a, old_callback, &note, 0));
  CHECK(cudaStreamSynchronize(a));
  EXPECT(note.step == 11);
  int priority = 0;
  CHECK(cudaStreamGetPriority(b, &priority));
  EXPECT(priority == greatest);
  for (cudaStream_t stream : {a, b, apart}) CHECK(cudaStreamDestroy(stream));
  for (cudaEvent_t event : {begin, end, ready}) CHECK(cudaEventDestroy(event));
  return passed("streams_events");
}
