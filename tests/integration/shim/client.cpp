// SPDX-License-Identifier: Apache-2.0
// An ordinary CUDA program linked to libcuda, in small: shim_client MODE [COUNT]. Exit code 0 if
// all its calls did what it expects; prints what a test wants to see. It knows nothing of the shim.
#define CUDA_ENABLE_DEPRECATED 1
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("not so: %s\n", what);
}
void succeeds(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) printf("%s answered %d\n", what, result);
  expect(result == CUDA_SUCCESS, what);
}

CUfunction prepare(CUstream& stream) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  succeeds(cuInit(0), "cuInit");
  succeeds(cuDeviceGet(&device, 0), "cuDeviceGet");
  succeeds(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  succeeds(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  succeeds(cuModuleLoadData(&module, ".version 8.0"), "cuModuleLoadData");
  succeeds(cuModuleGetFunction(&function, module, "kernel"), "cuModuleGetFunction");
  succeeds(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return function;
}

void launch_many(int count) {
  CUstream stream = nullptr;
  const CUfunction function = prepare(stream);
  for (int i = 0; i < count; ++i)
    succeeds(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr),
             "cuLaunchKernel");
  succeeds(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void in_threads(int count) {
  CUstream stream = nullptr;
  prepare(stream);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(&launch_many, count);
  for (std::thread& thread : threads) thread.join();
}

void in_a_child(int count) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    launch_many(count);
    exit(failures == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child succeeds");
}

void forwarded() {
  // Twice: the first call of a forwarder takes another way than the later ones.
  for (int i = 0; i < 2; ++i) {
    succeeds(cuLinkAddData(nullptr, CU_JIT_INPUT_PTX, nullptr, 4, nullptr, 6,
                           reinterpret_cast<CUjit_option*>(7), reinterpret_cast<void**>(8)),
             "an 8-argument call");
    succeeds(cuTexRefSetMipmapLevelBias(nullptr, 1.5f), "a call with a float");
  }
}

void missing() {
  CUgreenCtx context = nullptr;
  CUlaunchConfig config{};
  void* function = nullptr;
  for (int i = 0; i < 2; ++i) {
    expect(cuGreenCtxCreate(&context, nullptr, 0, 0) == CUDA_ERROR_NOT_SUPPORTED,
           "forwarded, missing");
    expect(cuLaunchKernelEx(&config, nullptr, nullptr, nullptr) == CUDA_ERROR_NOT_SUPPORTED,
           "hooked, missing");
    expect(
        cuGetProcAddress("cuLaunchKernelEx", &function, 12000, 0, nullptr) == CUDA_ERROR_NOT_FOUND,
        "looked up, missing");
  }
}

const char* object_of(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return "?";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

void* lookup(const char* name, int version, cuuint64_t flags) {
  void* function = nullptr;
  succeeds(cuGetProcAddress(name, &function, version, flags, nullptr), name);
  return function;
}

void lookups() {
  using Launch = decltype(&cuLaunchKernel);
  void* plain = lookup("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
  void* per_thread = lookup("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  expect(plain != per_thread, "stream variants are two functions");
  expect(lookup("cuGetProcAddress", 11040, 0) != lookup("cuGetProcAddress", 12000, 0),
         "the lookup's own two versions are two functions");
  for (const char* name :
       {"cuMemAlloc", "cuStreamSynchronize", "cuGraphLaunch", "cuModuleLoadData"})
    printf("%s %s\n", name, object_of(lookup(name, 12000, 0)));
  printf("cuLaunchKernel %s\n", object_of(plain));
  printf("cuLaunchKernel_ptsz %s\n", object_of(per_thread));
  printf("linked %s\n", object_of(dlsym(RTLD_DEFAULT, "cuLaunchKernel")));
  Launch launch = nullptr;
  memcpy(&launch, &plain, sizeof launch);
  succeeds(launch(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "a launch by pointer");
}

void no_device() {
  expect(cuInit(0) == CUDA_ERROR_NO_DEVICE, "cuInit answers no device");
  int count = 0;
  expect(cuDeviceGetCount(&count) == CUDA_ERROR_NO_DEVICE, "a forwarder answers no device");
  expect(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
             CUDA_ERROR_NO_DEVICE,
         "a launch answers no device");
}

// Memory in a loop, by two processes of one tenant; prints how many allocations were refused.
void memory(int count) {
  CUstream stream = nullptr;
  prepare(stream);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    CUdeviceptr pointer = 0;
    const CUresult result = cuMemAlloc(&pointer, 600);
    expect(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY,
           "success or out of memory");
    if (result == CUDA_SUCCESS)
      succeeds(cuMemFree(pointer), "cuMemFree");
    else
      ++refused;
  }
  printf("refused %d\n", refused);
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  if (strcmp(mode, "launch") == 0)
    launch_many(count);
  else if (strcmp(mode, "threads") == 0)
    in_threads(count);
  else if (strcmp(mode, "child-only") == 0)
    in_a_child(count);
  else if (strcmp(mode, "child-too") == 0)
    launch_many(count), in_a_child(count);
  else if (strcmp(mode, "forwarded") == 0)
    forwarded();
  else if (strcmp(mode, "missing") == 0)
    missing();
  else if (strcmp(mode, "lookups") == 0)
    lookups();
  else if (strcmp(mode, "no-device") == 0)
    no_device();
  else if (strcmp(mode, "memory") == 0)
    memory(count);
  else
    return 2;
  return failures == 0 ? 0 : 1;
}
