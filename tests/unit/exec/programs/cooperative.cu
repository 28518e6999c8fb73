// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: grids, tiles, partitions, reductions, scans, copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void grid(int* o) {
  cg::grid_group g = cg::this_grid();
  o[g.thread_rank()] = 1;
  g.sync();
  o[g.thread_rank()] += o[(g.thread_rank() + 1) % g.size()];
}
__global__ void tiles(int* o) {
  auto b = cg::this_thread_block();
  auto t = cg::tiled_partition<8>(b);
  int v = cg::reduce(t, (int)threadIdx.x, cg::plus<int>());
  v += cg::inclusive_scan(t, v, cg::plus<int>());
  auto c = cg::coalesced_threads();
  v += c.size() + c.thread_rank();
  if (threadIdx.x % 3 == 0) {
    auto k = cg::coalesced_threads();
    v += cg::reduce(k, v, cg::greater<int>());
    k.sync();
  }
  auto lp = cg::labeled_partition(c, threadIdx.x % 4);
  v += lp.size();
  auto bp = cg::binary_partition(c, threadIdx.x & 1);
  v += bp.thread_rank() + t.shfl_down(v, 1) + t.any(v > 3) + t.match_any(v & 1) +
       t.meta_group_rank();
  float f = cg::reduce(t, 1.5f * v, cg::less<float>());
  o[threadIdx.x] = v + (int)f;
  b.sync();
  cg::invoke_one(t, [&] { o[0]++; });
}
__global__ void async(int* o, const int* in) {
  extern __shared__ int s[];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, in, sizeof(int) * b.size());
  cg::wait(b);
  o[threadIdx.x] = s[threadIdx.x];
}
#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) cluster(int* o) {
  __shared__ int s;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) s = c.block_rank();
  c.sync();
  int* r = c.map_shared_rank(&s, 1 - c.block_rank());
  o[blockIdx.x * blockDim.x + threadIdx.x] = *r + c.num_blocks();
  c.sync();
}
#endif

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void wide_tiles(int* o) {
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  const int i = static_cast<int>(threadIdx.x);
  const int sum = cg::reduce(tile, i, cg::plus<int>()), third = tile.shfl(i, 3);
  tile.sync();
  o[i] = sum + third * 1000 + (tile.any(i == 100) ? 1 : 0);
}
#endif
