// SPDX-License-Identifier: Apache-2.0
// ns per launch: the null driver called straight ("direct") and libcuda.so.1 as this process has it
// ("hooked"). What "hooked" means is decided by what launch.py preloads. Threads launch into
// streams of their own.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "tests/bench/bench_driver.h"

namespace {

using gacer::bench::Driver;
using gacer::bench::Program;

template <void (Program::*launch)()>
void run(benchmark::State& state, const Driver& driver) {
  Program program(driver);
  int until_sync = gacer::bench::kLaunchesPerSync;
  for (auto _ : state) {
    (program.*launch)();
    if (--until_sync == 0) {
      program.synchronize();
      until_sync = gacer::bench::kLaunchesPerSync;
    }
  }
}

void add(const char* which, const Driver& driver, int threads) {
  const std::string prefix = std::string(which) + "/";
  benchmark::RegisterBenchmark((prefix + "cuLaunchKernel").c_str(), &run<&Program::launch>, driver)
      ->Threads(threads);
  benchmark::RegisterBenchmark((prefix + "cuLaunchKernelEx").c_str(), &run<&Program::launch_ex>,
                               driver)
      ->Threads(threads);
}

}  // namespace

int main(int argc, char** argv) {
  static const Driver direct = gacer::bench::open_driver(gacer::bench::kDirect);
  static const Driver hooked = gacer::bench::open_driver(gacer::bench::kHooked);
  const char* threads_text = getenv("LAUNCH_BENCH_THREADS");
  const int threads = threads_text != nullptr ? atoi(threads_text) : 1;
  add("direct", direct, threads);
  add("hooked", hooked, threads);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
