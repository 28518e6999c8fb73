// SPDX-License-Identifier: Apache-2.0
// Unified memory: a search tree built by the host, walked and changed by kernels; managed
// variables.
#include "program.h"

struct Node {
  int key;
  int visits;
  Node *left, *right;
};

__managed__ int deepest = 0;
__device__ __managed__ int histogram[8];

__global__ void find(Node* root, const int* keys, int* found, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int depth = 0;
  found[i] = 0;
  for (Node* node = root; node != nullptr; ++depth) {
    atomicAdd(&node->visits, 1);
    if (node->key == keys[i]) {
      found[i] = 1;
      break;
    }
    node = keys[i] < node->key ? node->left : node->right;
  }
  atomicMax(&deepest, depth);
  atomicAdd(&histogram[keys[i] & 7], 1);
}

int main() {
  constexpr int kNodes = 300, kQueries = 1000;
  Node* nodes;
  int *keys, *found;
  CHECK(cudaMallocManaged(&nodes, kNodes * sizeof(Node)));
  CHECK(cudaMallocManaged(&keys, kQueries * sizeof(int)));
  CHECK(cudaMallocManaged(&found, kQueries * sizeof(int)));
  Random random(28);
  std::vector<bool> present(4096);
  for (int i = 0; i < kNodes; ++i) {
    int key;
    do key = int(random.below(4096));
    while (present[key]);
    present[key] = true;
    nodes[i] = {key, 0, nullptr, nullptr};
    if (i == 0) continue;
    for (Node* at = nodes;;) {
      Node*& next = key < at->key ? at->left : at->right;
      if (next == nullptr) {
        next = &nodes[i];
        break;
      }
      at = next;
    }
  }
  int bins[8] = {};
  for (int i = 0; i < kQueries; ++i) {
    keys[i] = i % 3 ? int(random.below(4096)) : nodes[random.below(kNodes)].key;
    ++bins[keys[i] & 7];
  }
  find<<<(kQueries + 127) / 128, 128>>>(nodes, keys, found, kQueries);
  CHECK_LAUNCH();
  int depth = 0, root_visits = nodes->visits;
  for (int i = 0; i < kQueries; ++i) {
    EXPECT(found[i] == int(present[keys[i]]));
    int steps = 0;
    for (Node* at = nodes; at && at->key != keys[i]; ++steps)
      at = keys[i] < at->key ? at->left : at->right;
    depth = std::max(depth, steps);
  }
  EXPECT(root_visits == kQueries);
  EXPECT(deepest == depth);
  for (int b = 0; b < 8; ++b) EXPECT(histogram[b] == bins[b]);
  CHECK(cudaFree(nodes));
  CHECK(cudaFree(keys));
  CHECK(cudaFree(found));
  return passed("managed_tree");
}
