// SPDX-License-Identifier: Apache-2.0
// Blocks of one cluster: distributed shared memory, cluster barriers, bulk copies.
#include <cooperative_groups.h>

#include <cstdint>

namespace cg = cooperative_groups;

// A histogram whose bins are spread over the shared memory of the cluster's blocks.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_histogram(const uint32_t* in, uint32_t* out, int n) {
  __shared__ uint32_t bins[64];
  auto cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = blockIdx.x / 4 * n + cluster.block_rank() * blockDim.x + threadIdx.x;
       i < (blockIdx.x / 4 + 1) * n; i += 4 * blockDim.x) {
    const uint32_t bin = in[i] % 256;
    atomicAdd(cluster.map_shared_rank(&bins[bin % 64], bin / 64), 1u);
  }
  cluster.sync();
  out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void cluster_ids(uint32_t* out) {
  if (threadIdx.x != 0) return;
  auto cluster = cg::this_cluster();
  uint32_t id_x = 0, count_x = 0;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(id_x));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count_x));
  const uint32_t block = blockIdx.y * gridDim.x + blockIdx.x;
  uint32_t* row = out + block * 6;
  row[0] = cluster.block_rank();
  row[1] = cluster.num_blocks();
  row[2] = cluster.block_index().x;
  row[3] = cluster.block_index().y;
  row[4] = id_x;
  row[5] = count_x;
}

// One thread of block 0 sends its words to all blocks of the cluster; each waits on its own
// mbarrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const uint32_t* in, uint32_t* out) {
  __shared__ alignas(16) uint32_t words[64];
  __shared__ alignas(8) uint64_t barrier;
  auto cluster = cg::this_cluster();
  const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier)),
                 to = static_cast<uint32_t>(__cvta_generic_to_shared(words));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    uint64_t state;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 256;"
                 : "=l"(state)
                 : "r"(at)
                 : "memory");
    if (cluster.block_rank() == 0)
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%0], [%1], 256, [%2], %3;" ::"r"(to),
          "l"(in), "r"(at), "h"(static_cast<uint16_t>(3))
          : "memory");
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, "
        "p; }"
        : "=r"(done)
        : "r"(at)
        : "memory");
  words[threadIdx.x] += cluster.block_rank();
  __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out + blockIdx.x * 64),
        "r"(to)
        : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;" ::"l"(
            out + gridDim.x * 64),
        "r"(to)
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster.sync();
}
