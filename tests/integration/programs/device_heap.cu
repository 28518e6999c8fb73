// SPDX-License-Identifier: Apache-2.0
// malloc, free and printf in kernels: a hash table with chains of nodes from the device heap.
#include <map>

#include "program.h"

struct Entry {
  int key, count;
  Entry* next;
};

constexpr int kBuckets = 64;
__device__ Entry* bucket[kBuckets];
__device__ int lock[kBuckets];
__device__ int failures;

__global__ void insert(const int* keys, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int b = (keys[i] * 31 & 0x7fffffff) % kBuckets;
  for (bool done = false; !done;) {
    if (atomicCAS(&lock[b], 0, 1) != 0) continue;
    __threadfence();
    Entry* volatile* head = &bucket[b];
    Entry* entry = *head;
    while (entry != nullptr && entry->key != keys[i]) entry = entry->next;
    if (entry == nullptr) {
      entry = static_cast<Entry*>(malloc(sizeof(Entry)));
      if (entry == nullptr) {
        atomicAdd(&failures, 1);
      } else {
        *entry = {keys[i], 0, *head};
        *head = entry;
      }
    }
    if (entry != nullptr) ++*const_cast<volatile int*>(&entry->count);
    __threadfence();
    atomicExch(&lock[b], 0);
    done = true;
  }
}

__global__ void collect(int2* out, int* count) {
  for (Entry* entry = bucket[threadIdx.x]; entry != nullptr;) {
    out[atomicAdd(count, 1)] = make_int2(entry->key, entry->count);
    Entry* next = entry->next;
    free(entry);
    entry = next;
  }
  bucket[threadIdx.x] = nullptr;
}

__global__ void report(int distinct) {
  if (threadIdx.x < 2)
    printf("thread %d of %s: %d distinct keys, %5.2f %% %c %llu\n", int(threadIdx.x), "report",
           distinct, distinct / 10.0, 'x', 1ull << 40);
}

int main() {
  size_t heap = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  EXPECT(heap >= 16 << 20);
  constexpr int kCount = 2000;
  Random random(30);
  std::vector<int> keys(kCount);
  std::map<int, int> want;
  for (int& key : keys) ++want[key = int(random.below(150))];
  DeviceArray<int> dkeys(keys), count(1);
  DeviceArray<int2> out(kCount);
  for (int round = 0; round < 2; ++round) {
    count.clear();
    insert<<<(kCount + 127) / 128, 128>>>(dkeys.get(), kCount);
    collect<<<1, kBuckets>>>(out.get(), count.get());
    CHECK_LAUNCH();
    int failed = 0;
    CHECK(cudaMemcpyFromSymbol(&failed, failures, sizeof failed));
    EXPECT(failed == 0);
    EXPECT(count.host()[0] == int(want.size()));
    const auto got = out.host();
    for (size_t i = 0; i < want.size(); ++i) EXPECT(want.at(got[i].x) == got[i].y);
  }
  report<<<1, 32>>>(int(want.size()));
  CHECK_LAUNCH();
  return passed("device_heap");
}
