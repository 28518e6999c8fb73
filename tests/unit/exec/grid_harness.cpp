// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/exec/grid_harness.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace gacer::simdevice::test {
namespace {

uint32_t kernel_index(const Program& program, const std::string& kernel) {
  uint32_t k = 0;
  while (k < program.kernels().size() && program.kernels()[k].name != kernel) ++k;
  return k;
}

}  // namespace

Fault GridDevice::launch_grid(Program& program, const std::string& kernel, LaunchShape launch_shape,
                              const Params& params, const GridOptions& options) {
  const AddressSpace memory = space();
  GridLaunch launch;
  launch.kernel = kernel_index(program, kernel);
  launch.shape = launch_shape;
  launch.params = params.bytes().data();
  launch.memory = &memory;
  launch.budget_warp_instructions = options.budget;
  launch.resident_blocks = options.resident_blocks;
  launch.cooperative = options.cooperative;
  launch.heap = options.heap;
  launch.print = options.print;
  launch.clock = options.clock;
  launch.sm_count = 4;
  const auto run = program.start_grid(launch);
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < options.threads; ++t) helpers.emplace_back([&] { run->work({}); });
  run->work({});
  for (auto& helper : helpers) helper.join();
  counters.add(run->counters());
  return run->fault();
}

std::string kernel_text(const std::string& name, const std::string& arch) {
  const std::string path = std::string(GACER_KERNEL_PTX) + "/" + name + "_" + arch + ".ptx";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gacer::simdevice::test
