// SPDX-License-Identifier: Apache-2.0
// Virtual and indirect calls, recursion, switches, printf, assert, heaps, initialised tables,
// managed and constant data.
#include <cassert>
#include <cstdio>
struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float s;
  __device__ Square(float x) : s(x) {}
  __device__ float area() const override { return s * s; }
};
struct Circle : Shape {
  float r;
  __device__ Circle(float x) : r(x) {}
  __device__ float area() const override { return 3.14159265f * r * r; }
};
__global__ void virtuals(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Shape* s = (i & 1) ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Circle(i));
  out[i] = s->area();
  delete s;
}
typedef int (*Op)(int, int);
__device__ int op_add(int a, int b) {
  return a + b;
}
__device__ int op_sub(int a, int b) {
  return a - b;
}
__device__ int op_mul(int a, int b) {
  return a * b;
}
__device__ Op table[3] = {op_add, op_sub, op_mul};
__constant__ Op ctable[3] = {op_mul, op_add, op_sub};
__global__ void pointers(int* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = table[i % 3](i, 7) + ctable[i % 3](i, 3);
}
__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__global__ void recursion(int* out) {
  out[threadIdx.x] = fib(threadIdx.x % 12);
}
__device__ int sw(int a, int b) {
  switch (a) {
    case 0:
      return b * 3;
    case 1:
      return b ^ 77;
    case 2:
      return b << 3;
    case 3:
      return b / 7;
    case 4:
      return b % 13;
    case 5:
      return -b;
    case 6:
      return b * b;
    case 7:
      return b + 9;
    case 8:
      return b | 0x55;
    case 9:
      return ~b;
    case 10:
      return b * 11 - 5;
    default:
      return a;
  }
}
__global__ void switches(int* out, const int* in, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = sw(in[i], i);
}
__global__ void prints(float f, double d, long long l, const char* s, unsigned char c) {
  printf("none\n");
  printf("%d %u %x %c\n", threadIdx.x, blockIdx.x, 255, 'c');
  printf("%f %g %e %lld %s %p %hhu %5.2f %-8d| %%\n", f, d, d, l, s, s, c, f, 3);
}
__global__ void asserts(int* p) {
  assert(p != nullptr);
  assert(p[threadIdx.x] >= 0 && "not negative");
  p[threadIdx.x]++;
}
__global__ void alloc(int** out) {
  int* p = (int*)malloc(64);
  p[0] = threadIdx.x;
  out[threadIdx.x] = p;
  __syncthreads();
  if (threadIdx.x & 1) free(p);
}
struct Node {
  int v;
  Node* next;
};
__device__ Node n2 = {2, nullptr};
__device__ Node n1 = {1, &n2};
__constant__ Node n0 = {0, &n1};
struct Cfg {
  float a;
  const char* name;
  int dims[3];
  double d;
  const float* data;
};
__device__ float payload[4] = {1.5f, 2.5f, -3.f, 1e-20f};
__constant__ Cfg cfg = {2.f, "hello", {1, 2, 3}, 3.25, payload + 1};
__managed__ int managed_counter = 5;
__device__ __managed__ float managed_array[16];
__global__ void globals(float* out) {
  int s = 0;
  for (const Node* n = &n0; n; n = n->next) s += n->v;
  out[threadIdx.x] = s + cfg.a + cfg.name[threadIdx.x % 5] + cfg.dims[threadIdx.x % 3] + cfg.d +
                     cfg.data[threadIdx.x % 3];
  atomicAdd(&managed_counter, 1);
  managed_array[threadIdx.x % 16] += 1;
}
extern __shared__ int dyn[];
extern __shared__ double dynd[];
__global__ void dynshared(int* out) {
  dyn[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = dyn[blockDim.x - 1 - threadIdx.x] + (int)dynd[0];
}
template <int N>
__global__ void __launch_bounds__(256, 2) bounds(float* o) {
  float a[N];
  for (int i = 0; i < N; i++) a[i] = o[i * threadIdx.x];
  for (int i = 0; i < N; i++) o[i] = a[(i * 7 + threadIdx.x) % N];
}
template __global__ void bounds<20>(float*);
__device__ __noinline__ void noreturn_fn() {
  printf("stop\n");
  __trap();
}
__global__ void traps(int x) {
  if (x == 3) noreturn_fn();
  if (x == 4) asm volatile("exit;");
}
struct Big {
  int a[40];
  double b[5];
  char c;
};
__device__ __noinline__ Big make(Big b, int i) {
  b.a[i % 40] += i;
  b.b[i % 5] *= 2;
  b.c++;
  return b;
}
__global__ void bigstructs(Big in, Big* out) {
  Big b = make(in, threadIdx.x);
  out[threadIdx.x] = make(b, threadIdx.x + 1);
}
__global__ void __maxnreg__(64) maxregs(int* p) {
  p[0] = 1;
}
__global__ void gridconst(const __grid_constant__ Big b, int* out) {
  out[threadIdx.x] = b.a[threadIdx.x % 40];
}
__global__ void lambdas(int* out) {
  auto f = [=](int i) { return out[i] * 2; };
  out[threadIdx.x] = f(threadIdx.x);
}
__global__ void clocks(long long* out) {
  long long a = clock64();
  __nanosleep(100);
  out[0] = clock64() - a;
  out[1] = clock();
  unsigned long long g;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
  out[2] = g;
  unsigned s;
  asm("mov.u32 %0,%%smid;" : "=r"(s));
  out[3] = s;
}
__device__ __int128 g128;
__global__ void i128(__int128* o) {
  __int128 a = o[threadIdx.x];
  o[threadIdx.x] = a * a / 7 + g128 % 13 + (a >> 3) + (unsigned __int128)a / 3;
}
__global__ void longdata(long double* x, short4* s, char3* c, double2* d, longlong4* l) {
  s[1] = s[0];
  c[1] = c[0];
  d[1] = d[0];
  l[1] = l[0];
}
