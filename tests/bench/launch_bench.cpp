// SPDX-License-Identifier: Apache-2.0
// ns per launch: the null driver called straight ("direct") and libcuda.so.1 as this process has it
// ("hooked"). What "hooked" means is decided by what launch.py preloads. Threads launch into
// streams of their own.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/cuda_api.h"

namespace {

struct Driver {
  decltype(&::cuInit) init;
  decltype(&::cuStreamCreate) create_stream;
  decltype(&::cuStreamDestroy_v2) destroy_stream;
  decltype(&::cuModuleLoadData) load;
  decltype(&::cuModuleGetFunction) get_function;
  decltype(&::cuStreamSynchronize) synchronize;
  decltype(&::cuLaunchKernel) launch;
  decltype(&::cuLaunchKernelEx) launch_ex;
};

template <typename Function>
void take(void* library, const char* name, Function& function) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    fprintf(stderr, "launch_bench: no %s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(&function, &address, sizeof function);
}

Driver open_driver(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "launch_bench: %s\n", dlerror());
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

// A program's usual preparation.
struct Program {
  explicit Program(const Driver& with) : driver(with) {
    driver.init(0);
    driver.load(&module, ".version 8.0");
    driver.get_function(&function, module, "bench_kernel");
    driver.create_stream(&stream, 0);
  }
  ~Program() { driver.destroy_stream(stream); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Driver& driver;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  void* arguments[4] = {};
};

// As programs do; also what makes a graph of launches end.
constexpr int kLaunchesPerSync = 1000;

void launch_kernel(benchmark::State& state, const Driver& driver) {
  Program program(driver);
  int until_sync = kLaunchesPerSync;
  for (auto _ : state) {
    driver.launch(program.function, 1, 1, 1, 32, 1, 1, 0, program.stream, program.arguments,
                  nullptr);
    if (--until_sync == 0) {
      driver.synchronize(program.stream);
      until_sync = kLaunchesPerSync;
    }
  }
}

void launch_kernel_ex(benchmark::State& state, const Driver& driver) {
  Program program(driver);
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = program.stream;
  int until_sync = kLaunchesPerSync;
  for (auto _ : state) {
    driver.launch_ex(&config, program.function, program.arguments, nullptr);
    if (--until_sync == 0) {
      driver.synchronize(program.stream);
      until_sync = kLaunchesPerSync;
    }
  }
}

void add(const char* which, const char* api, void (*body)(benchmark::State&, const Driver&),
         const Driver& driver, int threads) {
  const std::string name = std::string(which) + "/" + api;
  benchmark::RegisterBenchmark(name.c_str(), body, driver)->Threads(threads);
}

}  // namespace

int main(int argc, char** argv) {
  static const Driver direct = open_driver("libnulldirect.so");
  static const Driver hooked = open_driver("libcuda.so.1");
  const char* threads_text = getenv("LAUNCH_BENCH_THREADS");
  const int threads = threads_text != nullptr ? atoi(threads_text) : 1;
  for (const auto& [which, driver] : {std::pair{"direct", direct}, std::pair{"hooked", hooked}}) {
    add(which, "cuLaunchKernel", &launch_kernel, driver, threads);
    add(which, "cuLaunchKernelEx", &launch_kernel_ex, driver, threads);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
