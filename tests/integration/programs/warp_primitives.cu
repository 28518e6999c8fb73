// SPDX-License-Identifier: Apache-2.0
// Votes, shuffles, matches and reductions of warps; stream compaction; a lock between lanes.
#include "program.h"

__global__ void votes(const int* in, unsigned* out) {
  const int value = in[threadIdx.x], lane = threadIdx.x & 31;
  const unsigned odd = __ballot_sync(~0u, value & 1);
  const bool all = __all_sync(~0u, value >= 0), any = __any_sync(~0u, value == 7);
  const unsigned equal = __match_any_sync(~0u, value % 4);
  int uniform = 0;
  const unsigned same_value = __match_all_sync(~0u, value / 1000, &uniform);
  if (lane == 0) {
    unsigned* mine = out + threadIdx.x / 32 * 5;
    mine[0] = odd, mine[1] = all, mine[2] = any, mine[3] = equal,
    mine[4] = uniform ? same_value : 0;
  }
}

__global__ void shuffles(const int* in, int* out) {
  const int t = threadIdx.x, value = in[t];
  out[t] = __shfl_sync(~0u, value, (t + 5) % 32);
  out[32 + t] = __shfl_up_sync(~0u, value, 3, 16);
  out[64 + t] = __shfl_down_sync(~0u, value, 2, 8);
  out[96 + t] = __shfl_xor_sync(~0u, value, 21);
  long long wide = static_cast<long long>(value) << 33 | t;
  wide = __shfl_sync(~0u, wide, 31 - t);
  out[128 + t] = static_cast<int>(wide >> 33) + static_cast<int>(wide & 31);
  // Only the upper half takes part.
  out[160 + t] = t >= 16 ? __shfl_sync(0xffff0000u, value, 16) : -1;
}

__global__ void compact(const int* in, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && in[i] % 3 == 0;
  const unsigned mask = __ballot_sync(~0u, keep), lane = threadIdx.x & 31;
  int base = 0;
  if (lane == 0 && mask != 0) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}

// Independent thread scheduling: lanes of one warp take turns in a critical section.
__global__ void locked_count(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *static_cast<volatile int*>(counter) = *static_cast<volatile int*>(counter) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void reductions(const unsigned* in, unsigned* out) {
  const unsigned v = in[threadIdx.x];
  const unsigned results[] = {__reduce_add_sync(~0u, v), __reduce_min_sync(~0u, v),
                              __reduce_max_sync(~0u, v), __reduce_and_sync(~0u, v),
                              __reduce_or_sync(~0u, v),  __reduce_xor_sync(~0u, v)};
  if (threadIdx.x == 0)
    for (int i = 0; i < 6; ++i) out[i] = results[i];
}

int main() {
  Random random(16);
  std::vector<int> values(64);
  for (int& v : values) v = static_cast<int>(random.below(50));
  values[40] = 7;
  DeviceArray<int> in(values);
  DeviceArray<unsigned> out(10);
  votes<<<1, 64>>>(in.get(), out.get());
  CHECK_LAUNCH();
  for (int warp = 0; warp < 2; ++warp) {
    unsigned odd = 0, equal = 0, seven = 0;
    for (int i = 0; i < 32; ++i) {
      const int v = values[warp * 32 + i];
      odd |= unsigned(v & 1) << i, seven |= v == 7;
      equal |= unsigned(v % 4 == values[warp * 32] % 4) << i;
    }
    const auto got = out.host();
    EXPECT(got[warp * 5] == odd && got[warp * 5 + 1] == 1 && got[warp * 5 + 2] == seven);
    EXPECT(got[warp * 5 + 3] == equal && got[warp * 5 + 4] == ~0u);
  }
  DeviceArray<int> moved(192);
  shuffles<<<1, 32>>>(in.get(), moved.get());
  CHECK_LAUNCH();
  std::vector<int> want(192);
  for (int t = 0; t < 32; ++t) {
    want[t] = values[(t + 5) % 32];
    want[32 + t] = t % 16 >= 3 ? values[t - 3] : values[t];
    want[64 + t] = t % 8 + 2 < 8 ? values[t + 2] : values[t];
    want[96 + t] = values[t ^ 21];
    want[128 + t] = values[31 - t] + (31 - t);
    want[160 + t] = t >= 16 ? values[16] : -1;
  }
  EXPECT(same(moved.host(), want));

  std::vector<int> many(5000), kept;
  for (int& v : many)
    if ((v = static_cast<int>(random.below(1000))) % 3 == 0) kept.push_back(v);
  DeviceArray<int> din(many), dout(many.size()), count(1);
  count.clear();
  compact<<<20, 256>>>(din.get(), int(many.size()), dout.get(), count.get());
  CHECK_LAUNCH();
  EXPECT(count.host()[0] == int(kept.size()));
  auto got = dout.host();
  long long a = 0, b = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT(got[i] % 3 == 0);
    a += got[i], b += kept[i];
  }
  EXPECT(a == b);

  DeviceArray<int> lock(2);
  lock.clear();
  locked_count<<<3, 96>>>(lock.get(), lock.get() + 1);
  CHECK_LAUNCH();
  EXPECT(lock.host()[1] == 288);

  std::vector<unsigned> words(32), six(6);
  for (unsigned& w : words) w = random.next() | 0x10;
  six[1] = ~0u, six[3] = ~0u;
  for (unsigned w : words) {
    six[0] += w, six[1] = std::min(six[1], w), six[2] = std::max(six[2], w);
    six[3] &= w, six[4] |= w, six[5] ^= w;
  }
  DeviceArray<unsigned> win(words), wout(6);
  reductions<<<1, 32>>>(win.get(), wout.get());
  CHECK_LAUNCH();
  EXPECT(same(wout.host(), six));
  return passed("warp_primitives");
}
