// SPDX-License-Identifier: Apache-2.0
// Function pointers, virtual functions, recursion, switches, templates and lambdas in device code.
#include "program.h"

using Operation = float (*)(float, float);
__device__ __noinline__ float plus(float a, float b) {
  return a + b;
}
__device__ __noinline__ float times(float a, float b) {
  return a * b;
}
__device__ __noinline__ float larger(float a, float b) {
  return a > b ? a : b;
}
__device__ Operation table[3] = {plus, times, larger};

__global__ void by_pointer(const int* which, const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[which[i]](a[i], b[i]);
}

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  __device__ explicit Square(double s) : side(s) {}
  __device__ double area() const override { return side * side; }
};
struct Ring : Shape {
  double outer, inner;
  __device__ Ring(double o, double i) : outer(o), inner(i) {}
  __device__ double area() const override { return 3 * (outer * outer - inner * inner); }
};

__global__ void areas(double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Shape* shape =
      i % 2 ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Ring(i + 1, i));
  out[i] = shape->area();
  delete shape;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recursive(unsigned* out) {
  out[threadIdx.x] = ackermann(2, threadIdx.x % 8);
}

// A machine with eight instructions: one big switch.
__host__ __device__ inline int interpret(const unsigned char* code, int length, int x) {
  int acc = x, reg = 1;
  for (int pc = 0; pc < length; ++pc) {
    switch (code[pc] & 7) {
      case 0:
        acc += reg;
        break;
      case 1:
        acc -= 3;
        break;
      case 2:
        acc ^= code[pc];
        break;
      case 3:
        reg = acc & 15;
        break;
      case 4:
        acc <<= 1;
        break;
      case 5:
        if (acc & 1) ++pc;
        break;
      case 6:
        acc = -acc;
        break;
      default:
        reg += code[pc] >> 3;
        break;
    }
  }
  return acc;
}
__global__ void machines(const unsigned char* code, int length, int* out) {
  out[threadIdx.x] = interpret(code + threadIdx.x % 7 * length, length, int(threadIdx.x));
}

template <typename Function>
__global__ void apply(int* out, Function function) {
  out[threadIdx.x] = function(int(threadIdx.x));
}

int main() {
  constexpr int kCount = 200;
  Random random(29);
  std::vector<int> which(kCount);
  std::vector<float> a(kCount), b(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) {
    which[i] = int(random.below(3)), a[i] = random.unit(), b[i] = random.unit();
    want[i] = which[i] == 0 ? a[i] + b[i] : which[i] == 1 ? a[i] * b[i] : std::max(a[i], b[i]);
  }
  DeviceArray<int> dw(which);
  DeviceArray<float> da(a), db(b), out(kCount);
  by_pointer<<<2, 128>>>(dw.get(), da.get(), db.get(), out.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want));

  DeviceArray<double> area(64);
  areas<<<2, 32>>>(area.get(), 64);
  CHECK_LAUNCH();
  const auto areas_host = area.host();
  for (int i = 0; i < 64; ++i) EXPECT(areas_host[i] == (i % 2 ? double(i) * i : 3.0 * (2 * i + 1)));

  DeviceArray<unsigned> results(32);
  recursive<<<1, 32>>>(results.get());
  CHECK_LAUNCH();
  const auto numbers = results.host();
  for (int i = 0; i < 32; ++i) EXPECT(numbers[i] == 2u * (i % 8) + 3);

  constexpr int kLength = 40;
  std::vector<unsigned char> code(7 * kLength);
  for (auto& byte : code) byte = static_cast<unsigned char>(random.next() >> 11);
  DeviceArray<unsigned char> dcode(code);
  DeviceArray<int> values(64);
  machines<<<1, 64>>>(dcode.get(), kLength, values.get());
  CHECK_LAUNCH();
  const auto got = values.host();
  for (int i = 0; i < 64; ++i) EXPECT(got[i] == interpret(&code[i % 7 * kLength], kLength, i));

  const int factor = 11;
  apply<<<1, 64>>>(values.get(), [factor] __device__(int i) { return i * factor - 1; });
  CHECK_LAUNCH();
  const auto scaled = values.host();
  for (int i = 0; i < 64; ++i) EXPECT(scaled[i] == i * 11 - 1);
  return passed("indirect_calls");
}
