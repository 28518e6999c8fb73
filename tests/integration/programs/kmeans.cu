// SPDX-License-Identifier: Apache-2.0
// k-means: structures in constant memory, shared accumulators, convergence decided on the host.
#include "program.h"

constexpr int kClusters = 5;
struct Centre {
  float x, y, z;
  int count;
};
__constant__ Centre centres[kClusters];

__global__ void assign(const float3* points, int n, int* label, Centre* sums, int* moved) {
  __shared__ Centre part[kClusters];
  __shared__ int changes;
  if (threadIdx.x < kClusters) part[threadIdx.x] = Centre{};
  if (threadIdx.x == 0) changes = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float3 p = points[i];
    int best = 0;
    float least = INFINITY;
    for (int c = 0; c < kClusters; ++c) {
      const float dx = p.x - centres[c].x, dy = p.y - centres[c].y, dz = p.z - centres[c].z;
      const float d = dx * dx + dy * dy + dz * dz;
      if (d < least) least = d, best = c;
    }
    if (label[i] != best) label[i] = best, atomicAdd(&changes, 1);
    atomicAdd(&part[best].x, p.x);
    atomicAdd(&part[best].y, p.y);
    atomicAdd(&part[best].z, p.z);
    atomicAdd(&part[best].count, 1);
  }
  __syncthreads();
  if (threadIdx.x < kClusters) {
    Centre& out = sums[threadIdx.x];
    atomicAdd(&out.x, part[threadIdx.x].x);
    atomicAdd(&out.y, part[threadIdx.x].y);
    atomicAdd(&out.z, part[threadIdx.x].z);
    atomicAdd(&out.count, part[threadIdx.x].count);
  }
  if (threadIdx.x == 0) atomicAdd(moved, changes);
}

int main() {
  constexpr int kCount = 4000;
  Random random(22);
  std::vector<float3> points(kCount);
  const float3 home[kClusters] = {{0, 0, 0}, {10, 0, 0}, {0, 10, 0}, {0, 0, 10}, {10, 10, 10}};
  for (int i = 0; i < kCount; ++i) {
    const float3 h = home[i % kClusters];
    points[i] = make_float3(h.x + random.unit(), h.y + random.unit(), h.z + random.unit());
  }
  DeviceArray<float3> dpoints(points);
  DeviceArray<int> label(std::vector<int>(kCount, -1)), moved(1);
  DeviceArray<Centre> sums(kClusters);
  Centre now[kClusters];
  for (int c = 0; c < kClusters; ++c) now[c] = {points[c].x, points[c].y, points[c].z, 0};
  int rounds = 0, changes = 1;
  for (; changes > 0 && rounds < 20; ++rounds) {
    CHECK(cudaMemcpyToSymbol(centres, now, sizeof now));
    sums.clear();
    moved.clear();
    assign<<<(kCount + 255) / 256, 256>>>(dpoints.get(), kCount, label.get(), sums.get(),
                                          moved.get());
    CHECK_LAUNCH();
    changes = moved.host()[0];
    const auto total = sums.host();
    for (int c = 0; c < kClusters; ++c) {
      EXPECT(total[c].count > 0);
      now[c] = {total[c].x / total[c].count, total[c].y / total[c].count,
                total[c].z / total[c].count, total[c].count};
    }
  }
  EXPECT(rounds >= 2 && rounds < 20);
  const auto labels = label.host();
  for (int i = 0; i < kCount; ++i) EXPECT(labels[i] == i % kClusters);
  for (int c = 0; c < kClusters; ++c)
    EXPECT(std::fabs(now[c].x - home[c].x - 0.5f) < 0.1f && now[c].count == kCount / kClusters);
  return passed("kmeans");
}
