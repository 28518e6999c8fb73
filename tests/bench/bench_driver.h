// SPDX-License-Identifier: Apache-2.0
// What the launch benchmarks call of a driver, and a program's usual preparation.
#pragma once

#include <cstdint>

#include "interpose/cuda_api.h"

namespace gacer::bench {

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

inline constexpr const char* kDirect = "libnulldirect.so";  // a name that no preload stands for
inline constexpr const char* kHooked = "libcuda.so.1";      // whatever this process has under it

// Ends the process with one line if the library or a function is missing.
Driver open_driver(const char* name);

struct Program {
  explicit Program(const Driver& with);
  ~Program() { driver.destroy_stream(stream); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void launch() { driver.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr); }
  void launch_ex() { driver.launch_ex(&config, function, arguments, nullptr); }
  void synchronize() { driver.synchronize(stream); }

  const Driver& driver;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  CUlaunchConfig config{};
  void* arguments[4] = {};
};

// As programs do; also what makes a graph of launches end.
inline constexpr int kLaunchesPerSync = 1000;

uint64_t now_ns();  // CLOCK_MONOTONIC

}  // namespace gacer::bench
