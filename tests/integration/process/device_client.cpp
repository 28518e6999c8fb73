// SPDX-License-Identifier: Apache-2.0
// device_client MODE COUNT: a program with kernels that run on a device, simulated or not.
//   queue COUNT   queues so many, prints "queued", waits for them, prints "done"
//   steady COUNT  one after the other, a pause between; prints the number of each when it is done
//   fault COUNT   stores to an address that is nobody's; prints the code that it gets
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Counts to its argument and stores the result.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry count(.param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %rd;
  ld.param.u64 %rd, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, %r1;
  @%p bra LOOP;
  st.global.u32 [%rd], %r2;
  ret;
}
)";

struct Device {
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
};

bool check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) printf("%s answered %d\n", what, result);
  return result == CUDA_SUCCESS;
}

bool open_device(Device& device) {
  CUdevice number = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  return check(cuInit(0), "cuInit") && check(cuDeviceGet(&number, 0), "cuDeviceGet") &&
         check(cuDevicePrimaryCtxRetain(&context, number), "cuDevicePrimaryCtxRetain") &&
         check(cuCtxSetCurrent(context), "cuCtxSetCurrent") &&
         check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData") &&
         check(cuModuleGetFunction(&device.function, module, "count"), "cuModuleGetFunction") &&
         check(cuMemAlloc(&device.memory, 4), "cuMemAlloc");
}

CUresult launch(const Device& device, unsigned steps) {
  CUdeviceptr memory = device.memory;
  void* parameters[] = {&memory, &steps};
  return cuLaunchKernel(device.function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
}

void say(const char* text) {
  puts(text);
  fflush(stdout);
}

bool queue(const Device& device, int count) {
  for (int i = 0; i < count; ++i)
    if (!check(launch(device, 20'000), "cuLaunchKernel")) return false;
  say("queued");
  if (!check(cuCtxSynchronize(), "cuCtxSynchronize")) return false;
  say("done");
  return true;
}

bool steady(const Device& device, int count) {
  for (int i = 0; i < count; ++i) {
    if (!check(launch(device, 100), "cuLaunchKernel")) return false;
    if (!check(cuCtxSynchronize(), "cuCtxSynchronize")) return false;
    printf("%d\n", i);
    fflush(stdout);
    usleep(20'000);
  }
  return true;
}

bool fault(Device device) {
  device.memory = 0x10;
  launch(device, 1);
  printf("%d\n", cuCtxSynchronize());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Device device;
  const int count = atoi(argv[2]);
  if (!open_device(device)) return 1;
  if (strcmp(argv[1], "queue") == 0) return queue(device, count) ? 0 : 1;
  if (strcmp(argv[1], "steady") == 0) return steady(device, count) ? 0 : 1;
  if (strcmp(argv[1], "fault") == 0) return fault(device) ? 0 : 1;
  return 2;
}
