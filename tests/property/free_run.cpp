// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/property/runner.h"

namespace gacer::property {
namespace {

bool is_kernel_launch(const Step& step) {
  const std::string_view name = step_kinds()[step.kind].name;
  return name.starts_with("cuLaunch");
}

// Returns how many launches were answered with success.
uint64_t run_thread(const Program& program, int index, Model& model, ShimHarness& shim) {
  ThreadState state;
  state.index = index;
  ThreadState::bind(&state);
  World world(model, &shim);
  world.freely = true;
  world.thread = &state;
  uint64_t kernels = 0;
  for (const Step& step : program.steps) {
    world.trace.clear();
    step_kinds()[step.kind].run(world, step);
    if (is_kernel_launch(step) && world.trace.front() == CUDA_SUCCESS) ++kernels;
  }
  ThreadState::bind(nullptr);
  return kernels;
}

void run_daemon(uint64_t seed, ShimHarness& shim, const std::atomic<bool>& done) {
  Random random(seed);
  while (!done.load()) {
    uint32_t words[6];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.next() >> 32);
    shim.decide(words);
    std::this_thread::yield();
  }
}

}  // namespace

Outcome run_freely(const Program (&programs)[kThreads]) {
  Model model(programs[0].seed);
  memset(Model::host_memory(), 0, Model::kHostBytes);
  install_model(&model);
  Outcome outcome;
  {
    ShimHarness shim(model, true);
    std::atomic<bool> done{false};
    std::thread daemon([&] { run_daemon(programs[0].seed, shim, done); });
    std::atomic<uint64_t> kernels{0};
    std::thread threads[kThreads];
    for (int i = 0; i < kThreads; ++i)
      threads[i] = std::thread([&, i] { kernels += run_thread(programs[i], i, model, shim); });
    for (std::thread& thread : threads) thread.join();
    done = true;
    daemon.join();
    outcome.kernels = kernels;
  }
  model.finish();
  outcome.effects = std::move(model.effects);
  outcome.violations = std::move(model.violations);
  return outcome;
}

}  // namespace gacer::property
