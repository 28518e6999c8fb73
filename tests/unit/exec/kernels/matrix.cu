// SPDX-License-Identifier: Apache-2.0
// Tensor core instructions by inline assembly: one 16x8 tile a warp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#define KERNEL extern "C" __global__ void

__device__ uint32_t pack(const uint16_t* row, int stride) {
  return row[0] | static_cast<uint32_t>(row[stride]) << 16;
}

// a: 16 x 16 row major, b: 16 x 8 row major, c: 16 x 8.
KERNEL mma_f16(const uint16_t* a, const uint16_t* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t a0 = pack(a + g * 16 + 2 * t, 1), a1 = pack(a + (g + 8) * 16 + 2 * t, 1);
  const uint32_t a2 = pack(a + g * 16 + 2 * t + 8, 1), a3 = pack(a + (g + 8) * 16 + 2 * t + 8, 1);
  const uint32_t b0 = pack(b + 2 * t * 8 + g, 8), b1 = pack(b + (2 * t + 8) * 8 + g, 8);
  float* c0 = c + g * 8 + 2 * t;
  float* c1 = c0 + 64;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c0[0]), "+f"(c0[1]), "+f"(c1[0]), "+f"(c1[1])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

KERNEL mma_bf16(const uint16_t* a, const uint16_t* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t a0 = pack(a + g * 16 + 2 * t, 1), a1 = pack(a + (g + 8) * 16 + 2 * t, 1);
  const uint32_t b0 = pack(b + 2 * t * 8 + g, 8);
  float* c0 = c + g * 8 + 2 * t;
  float* c1 = c0 + 64;
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(c0[0]), "+f"(c0[1]), "+f"(c1[0]), "+f"(c1[1])
      : "r"(a0), "r"(a1), "r"(b0));
}

KERNEL mma_tf32(const float* a, const float* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  uint32_t ra[4], rb[2];
  const float va[4] = {a[g * 16 + t], a[(g + 8) * 16 + t], a[g * 16 + t + 4],
                       a[(g + 8) * 16 + t + 4]};
  const float vb[2] = {b[t * 8 + g], b[(t + 4) * 8 + g]};
  for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ra[i]) : "f"(va[i]));
  for (int i = 0; i < 2; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rb[i]) : "f"(vb[i]));
  float* c0 = c + g * 8 + 2 * t;
  float* c1 = c0 + 64;
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c0[0]), "+f"(c0[1]), "+f"(c1[0]), "+f"(c1[1])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

KERNEL mma_half_sum(const uint16_t* a, const uint16_t* b, uint32_t* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t a0 = pack(a + g * 16 + 2 * t, 1), a1 = pack(a + (g + 8) * 16 + 2 * t, 1);
  const uint32_t a2 = pack(a + g * 16 + 2 * t + 8, 1), a3 = pack(a + (g + 8) * 16 + 2 * t + 8, 1);
  const uint32_t b0 = pack(b + 2 * t * 8 + g, 8), b1 = pack(b + (2 * t + 8) * 8 + g, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
      : "+r"(c[g * 4 + t]), "+r"(c[g * 4 + t + 32])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

KERNEL mma_s8(const int8_t* a, const int8_t* b, int* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t a0 = *reinterpret_cast<const uint32_t*>(a + g * 16 + 4 * t),
                 a1 = *reinterpret_cast<const uint32_t*>(a + (g + 8) * 16 + 4 * t);
  uint32_t b0 = 0;
  for (int i = 0; i < 4; ++i)
    b0 |= static_cast<uint32_t>(static_cast<uint8_t>(b[(4 * t + i) * 8 + g])) << (8 * i);
  int* c0 = c + g * 8 + 2 * t;
  int* c1 = c0 + 64;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(c0[0]), "+r"(c0[1]), "+r"(c1[0]), "+r"(c1[1])
      : "r"(a0), "r"(a1), "r"(b0));
}

// Fragments of A and B by ldmatrix from shared memory instead of by hand.
KERNEL mma_ldmatrix(const uint16_t* a, const uint16_t* b, float* c) {
  __shared__ __align__(16) uint16_t as[256], bs[128];
  for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32) bs[i] = b[i];
  __syncthreads();
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  uint32_t ra[4], rb[2];
  const uint32_t at = static_cast<uint32_t>(
      __cvta_generic_to_shared(as + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8));
  const uint32_t bt = static_cast<uint32_t>(__cvta_generic_to_shared(bs + threadIdx.x % 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(bt));
  float* c0 = c + g * 8 + 2 * t;
  float* c1 = c0 + 64;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c0[0]), "+f"(c0[1]), "+f"(c1[0]), "+f"(c1[1])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}
