// SPDX-License-Identifier: Apache-2.0
// Dynamic programming by anti-diagonals (longest common subsequence), knapsack, Floyd-Warshall.
#include <string>

#include "program.h"

__global__ void diagonal(const char* a, const char* b, int n, int m, int d, int* table) {
  const int first = max(1, d - m), last = min(n, d - 1);
  const int i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i > last) return;
  const int j = d - i, row = m + 1;
  table[i * row + j] = a[i - 1] == b[j - 1] ? table[(i - 1) * row + j - 1] + 1
                                            : max(table[(i - 1) * row + j], table[i * row + j - 1]);
}

__global__ void take_item(const int* before, int* after, int weight, int value, int capacity) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > capacity) return;
  int best = before[c];
  if (c >= weight) best = max(best, before[c - weight] + value);
  after[c] = best;
}

__global__ void through(float* distance, int n, int k) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < n)
    distance[i * n + j] = fminf(distance[i * n + j], distance[i * n + k] + distance[k * n + j]);
}

void subsequence() {
  Random random(19);
  std::string a(150, ' '), b(130, ' ');
  for (char& c : a) c = char('a' + random.below(4));
  for (char& c : b) c = char('a' + random.below(4));
  const int n = int(a.size()), m = int(b.size());
  std::vector<int> want((n + 1) * (m + 1));
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= m; ++j)
      want[i * (m + 1) + j] =
          a[i - 1] == b[j - 1] ? want[(i - 1) * (m + 1) + j - 1] + 1
                               : std::max(want[(i - 1) * (m + 1) + j], want[i * (m + 1) + j - 1]);
  DeviceArray<char> da(std::vector<char>(a.begin(), a.end())),
      db(std::vector<char>(b.begin(), b.end()));
  DeviceArray<int> table(want.size());
  table.clear();
  for (int d = 2; d <= n + m; ++d)
    diagonal<<<(std::min(n, m) + 63) / 64, 64>>>(da.get(), db.get(), n, m, d, table.get());
  CHECK_LAUNCH();
  EXPECT(same(table.host(), want));
}

void knapsack() {
  constexpr int kItems = 40, kCapacity = 700;
  Random random(20);
  std::vector<int> best(kCapacity + 1);
  DeviceArray<int> a(best), b(best.size());
  int *from = a.get(), *to = b.get();
  for (int item = 0; item < kItems; ++item, std::swap(from, to)) {
    const int weight = 1 + int(random.below(60)), value = int(random.below(100));
    take_item<<<(kCapacity + 256) / 256, 256>>>(from, to, weight, value, kCapacity);
    for (int c = kCapacity; c >= weight; --c) best[c] = std::max(best[c], best[c - weight] + value);
  }
  CHECK_LAUNCH();
  std::vector<int> got(best.size());
  CHECK(cudaMemcpy(got.data(), from, got.size() * sizeof(int), cudaMemcpyDefault));
  EXPECT(same(got, best));
}

void shortest_paths() {
  constexpr int kNodes = 60;
  Random random(21);
  std::vector<float> distance(kNodes * kNodes, INFINITY);
  for (int i = 0; i < kNodes; ++i) {
    distance[i * kNodes + i] = 0;
    for (int e = 0; e < 3; ++e) distance[i * kNodes + random.below(kNodes)] = 1 + random.below(50);
    distance[i * kNodes + i] = 0;
  }
  DeviceArray<float> d(distance);
  for (int k = 0; k < kNodes; ++k) {
    through<<<dim3(4, 4), dim3(16, 16)>>>(d.get(), kNodes, k);
    for (int i = 0; i < kNodes; ++i)
      for (int j = 0; j < kNodes; ++j)
        distance[i * kNodes + j] =
            std::min(distance[i * kNodes + j], distance[i * kNodes + k] + distance[k * kNodes + j]);
  }
  CHECK_LAUNCH();
  const auto got = d.host();
  for (size_t i = 0; i < got.size(); ++i) EXPECT(got[i] == distance[i]);  // infinities too
}

int main() {
  subsequence();
  knapsack();
  shortest_paths();
  return passed("dynamic_programming");
}
