// SPDX-License-Identifier: Apache-2.0
// Atomics, complex numbers, latches and semaphores of libcu++.
#include <cuda/atomic>
#include <cuda/functional>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
__device__ cuda::atomic<int, cuda::thread_scope_device> a;
__device__ cuda::atomic<unsigned long long, cuda::thread_scope_system> b;
__device__ cuda::atomic<float> fl;
__device__ cuda::atomic<short> sh;
__device__ cuda::atomic<char> ch;
struct Pair {
  int x, y;
};
__device__ cuda::atomic<Pair> pr;
__global__ void at(int* o, float* f, double* d) {
  int i = threadIdx.x;
  a.fetch_add(1, cuda::memory_order_relaxed);
  b.fetch_max(i);
  fl.fetch_add(1.f);
  sh.fetch_add(1);
  ch.fetch_or(3);
  int e = 3;
  a.compare_exchange_strong(e, 4, cuda::memory_order_acq_rel, cuda::memory_order_acquire);
  Pair p = pr.load();
  p.x++;
  pr.store(p);
  o[i] = a.load(cuda::memory_order_acquire) + a.exchange(5) + sh.load();
  cuda::atomic_ref<int, cuda::thread_scope_block> r(o[i]);
  r.fetch_and(7);
  r.fetch_xor(1);
  r.fetch_min(3);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  cuda::atomic_ref<double> dr(d[0]);
  dr.fetch_add(2.0);
  cuda::atomic_ref<float> fr(f[0]);
  fr.fetch_max(2.0f);
  a.wait(99);
  a.notify_all();
  atomicCAS(o, 1, 2);
  atomicInc((unsigned*)o, 3);
  atomicDec((unsigned*)o, 3);
  atomicExch(f, 1.f);
  atomicAdd(d, 1.0);
  atomicMin((long long*)o, 3LL);
  atomicAdd_system(o, 1);
  atomicAdd_block(o, 1);
  atomicCAS((unsigned short*)o, (unsigned short)1, (unsigned short)2);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}
__global__ void cx(cuda::std::complex<float>* z, cuda::std::complex<double>* w) {
  int i = threadIdx.x;
  z[i] = cuda::std::exp(z[i]) * cuda::std::sqrt(z[i]) / cuda::std::pow(z[i + 1], z[i]) +
         cuda::std::polar(1.f, 2.f) + cuda::std::log(z[i]) + cuda::std::sin(z[i]) +
         cuda::std::atanh(z[i]);
  w[i] = cuda::std::exp(w[i]) * cuda::std::sqrt(w[i]) / w[i + 1] + cuda::std::tan(w[i]);
}
__global__ void lat(cuda::latch<cuda::thread_scope_device>* l,
                    cuda::counting_semaphore<cuda::thread_scope_device>* s) {
  s->acquire();
  l->arrive_and_wait();
  s->release();
}
