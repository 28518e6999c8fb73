// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/ptx/ptx_target.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/ptx/parser.h"
#include "runtime/ptx/printer.h"
#include "runtime/simdevice/exec/device_heap.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::fuzz {
namespace {

void check_printing(const ptx::Module& module) {
  const auto again = ptx::parse(ptx::print(module));
  if (again.ok() && *again == module) return;
  std::fprintf(stderr, "a printed module does not parse to an equal tree: %s\n",
               again.ok() ? "differs" : again.error().message.c_str());
  std::abort();
}

void run_kernels(simdevice::Program& program) {
  constexpr uint64_t kBase = 0x7000'0000'0000ULL;
  constexpr size_t kBytes = 1 << 16;
  std::vector<uint8_t> memory(kBytes);
  const simdevice::AddressSpace space({{kBase, kBytes, memory.data()}});
  program.bind_globals(std::vector<uint64_t>(program.globals().size(), kBase));
  simdevice::DeviceHeap heap(1 << 12);
  simdevice::GridLaunch launch;
  launch.memory = &space;
  launch.shape.grid = {2, 1, 1};
  launch.shape.cluster = {2, 1, 1};
  launch.shape.block = {40, 1, 1};
  launch.budget_warp_instructions = 20'000;
  launch.resident_blocks = 2;
  launch.cooperative = true;
  launch.heap = &heap;
  launch.print = [](std::string_view) {};
  for (uint32_t k = 0; k < program.kernels().size(); ++k) {
    // Every parameter that is a whole pointer points to memory.
    std::vector<uint8_t> params(program.kernels()[k].param_bytes + 8);
    for (const auto& p : program.kernels()[k].params)
      if (p.bytes == 8) std::memcpy(&params[p.offset], &kBase, 8);
    launch.kernel = k;
    launch.params = params.data();
    const auto run = program.start_grid(launch);
    run->work({});
  }
}

}  // namespace

bool run_ptx(std::string_view text) {
  if (const auto module = ptx::parse(text); module.ok()) check_printing(*module);
  const auto program = simdevice::Program::compile(text, 90);
  if (program.ok()) run_kernels(**program);
  return program.ok();
}

}  // namespace gacer::fuzz
