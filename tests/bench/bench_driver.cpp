// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench_driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace gacer::bench {
namespace {

template <typename Function>
void take(void* library, const char* name, Function& function) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    fprintf(stderr, "launch bench: no %s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(&function, &address, sizeof function);
}

}  // namespace

Driver open_driver(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "launch bench: %s\n", dlerror());
    exit(1);
  }
  Driver driver{};
  take(library, "cuInit", driver.init);
  take(library, "cuStreamCreate", driver.create_stream);
  take(library, "cuStreamDestroy_v2", driver.destroy_stream);
  take(library, "cuModuleLoadData", driver.load);
  take(library, "cuModuleGetFunction", driver.get_function);
  take(library, "cuStreamSynchronize", driver.synchronize);
  take(library, "cuLaunchKernel", driver.launch);
  take(library, "cuLaunchKernelEx", driver.launch_ex);
  return driver;
}

Program::Program(const Driver& with) : driver(with) {
  driver.init(0);
  driver.load(&module, ".version 8.0");
  driver.get_function(&function, module, "bench_kernel");
  driver.create_stream(&stream, 0);
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace gacer::bench
