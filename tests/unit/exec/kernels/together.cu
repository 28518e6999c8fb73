// SPDX-License-Identifier: Apache-2.0
// Blocks and lanes that wait for each other.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdint>

namespace cg = cooperative_groups;

// Every round each thread adds what its neighbour on the other side of the grid had.
extern "C" __global__ void grid_rounds(uint32_t* values, int rounds) {
  auto grid = cg::this_grid();
  const auto n = static_cast<uint32_t>(grid.size()), i = static_cast<uint32_t>(grid.thread_rank());
  for (int r = 0; r < rounds; ++r) {
    const uint32_t seen = values[(i + n / 2) % n];
    grid.sync();
    values[i] += seen + 1;
    grid.sync();
  }
}

// A scan in one pass: each block waits for the sum of all blocks before it.
extern "C" __global__ void chained_scan(const uint32_t* in, uint32_t* out, uint32_t* flags,
                                        uint32_t* sums) {
  __shared__ uint32_t before;
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ uint32_t warp_sums[32];
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t x = cg::inclusive_scan(warp, in[i], cg::plus<uint32_t>());
  if (warp.thread_rank() == 31) warp_sums[warp.meta_group_rank()] = x;
  block.sync();
  for (uint32_t w = 0; w < warp.meta_group_rank(); ++w) x += warp_sums[w];
  if (threadIdx.x == blockDim.x - 1) {
    uint32_t sum = 0;
    if (blockIdx.x != 0) {
      while (*const_cast<volatile uint32_t*>(&flags[blockIdx.x - 1]) == 0) {
      }
      __threadfence();
      sum = *const_cast<volatile uint32_t*>(&sums[blockIdx.x - 1]);
    }
    before = sum;
    sums[blockIdx.x] = sum + x;
    __threadfence();
    *const_cast<volatile uint32_t*>(&flags[blockIdx.x]) = 1;
  }
  block.sync();
  out[i] = x + before;
}

// The first blocks wait for the last one.
extern "C" __global__ void last_is_first(uint32_t* flag, uint32_t* out) {
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x == 0) atomicExch(flag, 7u);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0u) == 0) __nanosleep(100);
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(flag, 0u);
}

// A lock that lanes of one warp take in turns.
extern "C" __global__ void lane_lock(uint32_t* lock, uint32_t* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0u, 1u) == 0) {
      __threadfence();
      *const_cast<volatile uint32_t*>(count) += 1;
      __threadfence();
      atomicExch(lock, 0u);
      done = true;
    }
  }
}

// The textbook form, whose inner loop never ends for lanes that lose while the winner has left it.
extern "C" __global__ void lane_lock_inner(uint32_t* lock, uint32_t* count) {
  while (atomicCAS(lock, 0u, 1u) != 0) {
  }
  __threadfence();
  *const_cast<volatile uint32_t*>(count) += 1;
  __threadfence();
  atomicExch(lock, 0u);
}

// Half of a warp produces for the other half, which waits for each item.
extern "C" __global__ void lane_pipe(volatile uint32_t* slot, uint32_t* out, int items) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    for (int k = 1; k <= items; ++k) {
      while (slot[0] != 0) {
      }
      slot[0] = static_cast<uint32_t>(k);
    }
  } else if (lane == 1) {
    uint32_t sum = 0;
    for (int k = 1; k <= items; ++k) {
      uint32_t value = 0;
      while ((value = slot[0]) == 0) {
      }
      sum += value;
      slot[0] = 0;
    }
    *out = sum;
  }
}

// Groups of several kinds; each writes what it computed.
extern "C" __global__ void groups(const int* in, int* out) {
  auto block = cg::this_thread_block();
  const int i = threadIdx.x, value = in[i];
  auto tile8 = cg::tiled_partition<8>(block);
  int* row = out + i * 8;
  row[0] = cg::reduce(tile8, value, cg::plus<int>());
  row[1] = cg::exclusive_scan(tile8, value, cg::plus<int>());
  auto warp = cg::tiled_partition<32>(block);
  auto same = cg::labeled_partition(warp, value % 3);
  row[2] = static_cast<int>(same.size()) * 1000 + static_cast<int>(same.thread_rank());
  auto odd = cg::binary_partition(warp, value % 2 != 0);
  row[3] = cg::reduce(odd, value, cg::greater<int>());
  if (i % 5 < 2) {
    auto active = cg::coalesced_threads();
    row[4] = static_cast<int>(active.size()) * 1000 + static_cast<int>(active.thread_rank());
    row[5] = active.shfl(value, 0);
  } else {
    row[4] = row[5] = -1;
  }
  auto tile64 = cg::tiled_partition<4>(warp);
  row[6] = tile64.any(value > 50) + 2 * tile64.all(value > 10);
  row[7] = static_cast<int>(tile64.ballot(value % 2 != 0)) * 100 +
           static_cast<int>(tile64.meta_group_rank());
}

// __syncwarp with masks of a part of the lanes, in code that the halves reach at different times.
extern "C" __global__ void half_syncs(int* out) {
  __shared__ int words[32];
  const unsigned lane = threadIdx.x % 32, mask = lane < 16 ? 0xffffu : 0xffff0000u;
  words[lane] = 0;
  __syncwarp();
  if (lane % 16 < 5) {
    for (unsigned k = 0; k <= lane; ++k) words[lane] += 1;
    __syncwarp(mask);
  } else if (lane < 16) {
    words[lane] = 100;
    __syncwarp(mask);
  } else {
    words[lane] = 200;
    __syncwarp(mask);
  }
  out[lane] = words[(lane & 16) + (lane + 5) % 16];
}
