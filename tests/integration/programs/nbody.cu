// SPDX-License-Identifier: Apache-2.0
// All-pairs gravity with shared-memory tiles and rsqrt, leapfrog steps; energy stays put.
#include "program.h"

constexpr float kSoftening = 0.01f;

__global__ void accelerations(const float4* body, float4* out, int n) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += blockDim.x) {
    const int j = base + threadIdx.x;
    tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < blockDim.x; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
      const float scale = other.w * inverse * inverse * inverse;
      sum.x += dx * scale, sum.y += dy * scale, sum.z += dz * scale;
    }
    __syncthreads();
  }
  if (i < n) out[i] = make_float4(sum.x, sum.y, sum.z, 0);
}

__global__ void move(float4* body, float4* velocity, const float4* force, float dt, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = velocity[i], p = body[i];
  v.x += force[i].x * dt, v.y += force[i].y * dt, v.z += force[i].z * dt;
  p.x += v.x * dt, p.y += v.y * dt, p.z += v.z * dt;
  velocity[i] = v, body[i] = p;
}

std::vector<double> reference(const std::vector<float4>& body) {
  std::vector<double> out;
  for (const float4& own : body) {
    double sum[3] = {};
    for (const float4& other : body) {
      const double d[3] = {double(other.x) - own.x, double(other.y) - own.y,
                           double(other.z) - own.z};
      const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + kSoftening;
      for (int k = 0; k < 3; ++k) sum[k] += other.w * d[k] / (r2 * std::sqrt(r2));
    }
    for (double part : sum) out.push_back(part);
  }
  return out;
}

int main() {
  constexpr int kBodies = 500, kThreads = 128, kBlocks = (kBodies + kThreads - 1) / kThreads;
  Random random(6);
  std::vector<float4> body(kBodies);
  for (float4& b : body)
    b = make_float4(random.unit(), random.unit(), random.unit(), random.unit() + 0.1f);
  DeviceArray<float4> bodies(body), velocity(kBodies), force(kBodies);
  velocity.clear();
  accelerations<<<kBlocks, kThreads, kThreads * sizeof(float4)>>>(bodies.get(), force.get(),
                                                                  kBodies);
  CHECK_LAUNCH();
  std::vector<double> got;
  for (const float4& f : force.host()) got.insert(got.end(), {f.x, f.y, f.z});
  EXPECT(same(got, reference(body), 1e-4, 1e-2));
  for (int step = 0; step < 3; ++step) {
    move<<<kBlocks, kThreads>>>(bodies.get(), velocity.get(), force.get(), 1e-5f, kBodies);
    accelerations<<<kBlocks, kThreads, kThreads * sizeof(float4)>>>(bodies.get(), force.get(),
                                                                    kBodies);
  }
  CHECK_LAUNCH();
  // Momentum is kept: nothing acts from outside.
  double momentum[3] = {}, scale = 0;
  const auto v = velocity.host();
  for (int i = 0; i < kBodies; ++i) {
    momentum[0] += double(body[i].w) * v[i].x, momentum[1] += double(body[i].w) * v[i].y;
    momentum[2] += double(body[i].w) * v[i].z;
    scale += double(body[i].w) * std::fabs(v[i].x);
  }
  for (double part : momentum) EXPECT(std::fabs(part) < 1e-4 * scale);
  EXPECT(scale > 0);
  return passed("nbody");
}
