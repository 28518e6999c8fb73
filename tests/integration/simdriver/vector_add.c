/* SPDX-License-Identifier: Apache-2.0 */
/* A plain C program against cuda.h and -lcuda, as an application would be: adds two vectors, prints "ok". */
#include <cuda.h>
#include <stdio.h>

#define N 1000

static const char* const kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
    "  .reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p, %r5, %r1; @%p bra DONE;\n"
    "  mul.wide.s32 %rd4, %r5, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;\n"
    "  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3;\n"
    "DONE:\n  ret;\n}\n";

#define TRY(call)                                                             \
  do {                                                                        \
    const CUresult result = (call);                                           \
    const char* text = "unknown";                                             \
    if (result != CUDA_SUCCESS) {                                             \
      cuGetErrorString(result, &text);                                        \
      printf("%s: error %d: %s\n", #call, (int)result, text);                 \
      return 1;                                                               \
    }                                                                         \
  } while (0)

static int add(CUfunction function) {
  float a[N], b[N], c[N];
  CUdeviceptr da, db, dc;
  int n = N, i;
  void* params[] = {&da, &db, &dc, &n};
  for (i = 0; i < N; ++i) a[i] = (float)i, b[i] = 2.0F * (float)i, c[i] = -1.0F;
  TRY(cuMemAlloc(&da, sizeof a));
  TRY(cuMemAlloc(&db, sizeof b));
  TRY(cuMemAlloc(&dc, sizeof c));
  TRY(cuMemcpyHtoD(da, a, sizeof a));
  TRY(cuMemcpyHtoD(db, b, sizeof b));
  TRY(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
  TRY(cuMemcpyDtoH(c, dc, sizeof c));
  for (i = 0; i < N; ++i)
    if (c[i] != 3.0F * (float)i) {
      printf("element %d is %f\n", i, (double)c[i]);
      return 1;
    }
  return 0;
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  TRY(cuInit(0));
  TRY(cuDeviceGet(&device, 0));
  TRY(cuDevicePrimaryCtxRetain(&context, device));
  TRY(cuCtxSetCurrent(context));
  TRY(cuModuleLoadData(&module, kPtx));
  TRY(cuModuleGetFunction(&function, module, "vector_add"));
  if (add(function) != 0) return 1;
  TRY(cuDevicePrimaryCtxRelease(device));
  puts("ok");
  return 0;
}
