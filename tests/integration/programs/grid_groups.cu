// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: grid-wide synchronisation (conjugate gradients in one kernel), tiles, reduce.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "program.h"

namespace cg = cooperative_groups;

__device__ double dot_part(const double* a, const double* b, int n, cg::grid_group& grid) {
  double sum = 0;
  for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
    sum += a[i] * b[i];
  return sum;
}

__device__ void add_block(double value, double* out) {
  __shared__ double part[8];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  value = cg::reduce(tile, value, cg::plus<double>());
  if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = value;
  block.sync();
  if (block.thread_rank() == 0) {
    double sum = 0;
    for (unsigned i = 0; i < tile.meta_group_size(); ++i) sum += part[i];
    atomicAdd(out, sum);
  }
  block.sync();
}

// A = tridiagonal (-1, 4, -1); solves A x = b. scalars: r.r old, p.Ap, r.r new.
__global__ void conjugate_gradients(const double* b, double* x, double* r, double* p, double* ap,
                                    double* scalars, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  const int rank = static_cast<int>(grid.thread_rank()), size = static_cast<int>(grid.size());
  for (int i = rank; i < n; i += size) x[i] = 0, r[i] = p[i] = b[i];
  grid.sync();
  add_block(dot_part(r, r, n, grid), &scalars[0]);
  for (int step = 0; step < steps; ++step) {
    grid.sync();
    for (int i = rank; i < n; i += size)
      ap[i] = 4 * p[i] - (i > 0 ? p[i - 1] : 0) - (i + 1 < n ? p[i + 1] : 0);
    grid.sync();
    add_block(dot_part(p, ap, n, grid), &scalars[1]);
    grid.sync();
    const double alpha = scalars[0] / scalars[1];
    for (int i = rank; i < n; i += size) x[i] += alpha * p[i], r[i] -= alpha * ap[i];
    grid.sync();
    add_block(dot_part(r, r, n, grid), &scalars[2]);
    grid.sync();
    const double beta = scalars[2] / scalars[0];
    for (int i = rank; i < n; i += size) p[i] = r[i] + beta * p[i];
    grid.sync();
    if (rank == 0) scalars[0] = scalars[2], scalars[1] = scalars[2] = 0;
  }
}

__global__ void tiles(const int* in, int* scanned, int* sums) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  const unsigned rank = block.group_index().x * block.size() + block.thread_rank();
  scanned[rank] = cg::inclusive_scan(tile, in[rank]);
  const int sum = cg::reduce(tile, in[rank], cg::plus<int>());
  if (tile.thread_rank() == tile.size() - 1) sums[rank / 8] = sum;
  // Odd values only.
  if (in[rank] & 1) {
    cg::coalesced_group odd = cg::coalesced_threads();
    if (odd.thread_rank() == 0)
      atomicAdd(&sums[gridDim.x * blockDim.x / 8], static_cast<int>(odd.size()));
  }
}

void solve() {
  constexpr int kCount = 3000, kSteps = 25, kThreads = 256;
  int cooperative = 0, sms = 0, per_sm = 0;
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, conjugate_gradients, kThreads, 0));
  EXPECT(cooperative == 1 && per_sm > 0);
  Random random(14);
  std::vector<double> b(kCount);
  for (double& v : b) v = random.unit();
  DeviceArray<double> db(b), x(kCount), r(kCount), p(kCount), ap(kCount), scalars(3);
  scalars.clear();
  const double* b_pointer = db.get();
  double *xp = x.get(), *rp = r.get(), *pp = p.get(), *app = ap.get(), *sp = scalars.get();
  int n = kCount, steps = kSteps;
  void* args[] = {&b_pointer, &xp, &rp, &pp, &app, &sp, &n, &steps};
  const void* kernel = reinterpret_cast<const void*>(conjugate_gradients);
  CHECK(cudaLaunchCooperativeKernel(kernel, dim3(12), dim3(kThreads), args, 0, nullptr));
  CHECK_LAUNCH();
  const auto got = x.host();
  for (int i = 0; i < kCount; ++i) {
    const double left = 4 * got[i] - (i > 0 ? got[i - 1] : 0) - (i + 1 < kCount ? got[i + 1] : 0);
    EXPECT(std::fabs(left - b[i]) < 1e-6);
  }
  const dim3 too_many(static_cast<unsigned>(sms * per_sm + 1));
  EXPECT(cudaLaunchCooperativeKernel(kernel, too_many, dim3(kThreads), args, 0, nullptr) ==
         cudaErrorCooperativeLaunchTooLarge);
  (void)cudaGetLastError();
}

void partitions() {
  constexpr int kCount = 512;
  Random random(15);
  std::vector<int> values(kCount), scanned(kCount), sums(kCount / 8 + 1);
  for (int i = 0; i < kCount; ++i) {
    values[i] = static_cast<int>(random.below(1000));
    scanned[i] = values[i] + (i % 8 ? scanned[i - 1] : 0);
    sums[i / 8] = scanned[i];
    sums[kCount / 8] += values[i] & 1;
  }
  DeviceArray<int> in(values), out(kCount), dsums(sums.size());
  dsums.clear();
  tiles<<<4, kCount / 4>>>(in.get(), out.get(), dsums.get());
  CHECK_LAUNCH();
  EXPECT(same(out.host(), scanned));
  EXPECT(same(dsums.host(), sums));
}

int main() {
  solve();
  partitions();
  return passed("grid_groups");
}
