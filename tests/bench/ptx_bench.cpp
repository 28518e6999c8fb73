// SPDX-License-Identifier: Apache-2.0
// How fast the executor of the simulated device runs PTX: thread instructions per second of CPU
// time, on one thread. GACER_BENCH_PTX names the compiled ptx_kernels.cu.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kBase = 0x7000'0000'0000ULL;
constexpr size_t kBufferBytes = 8u << 20;

struct Case {
  const char* kernel;
  std::array<uint32_t, 3> grid, block;
  int buffers;          // pointers come first
  uint32_t scalar;      // then one 32-bit number
  uint64_t last;        // and bits of a factor or a seed,
  uint32_t last_bytes;  // if any
};

constexpr uint32_t kElements = 1u << 20;
const Case kCases[] = {
    {"fma_loop", {8, 1, 1}, {256, 1, 1}, 1, 400, 0x3f000000u, 4},
    {"fma64_loop", {8, 1, 1}, {256, 1, 1}, 1, 400, 0x3fe0000000000000u, 8},
    {"integer_loop", {8, 1, 1}, {256, 1, 1}, 1, 1000, 7, 4},
    {"copy_stream", {16, 1, 1}, {256, 1, 1}, 2, kElements, 0, 0},
    {"copy_vector", {16, 1, 1}, {256, 1, 1}, 2, kElements / 4, 0, 0},
    {"gather", {16, 1, 1}, {256, 1, 1}, 3, kElements, 0, 0},
    {"histogram", {16, 1, 1}, {256, 1, 1}, 2, kElements, 0, 0},
    {"tile_matmul", {16, 4, 1}, {16, 16, 1}, 3, 256, 0, 0},
    {"divergent", {16, 1, 1}, {256, 1, 1}, 1, 1000, 0, 0},
};

// Three buffers side by side; their words are small enough to be indices.
class Memory {
 public:
  Memory() : bytes_(3 * kBufferBytes) {
    auto* words = reinterpret_cast<uint32_t*>(bytes_.data());
    uint32_t x = 1;
    for (size_t i = 0; i < bytes_.size() / 4; ++i) {
      x = x * 1664525u + 1013904223u;
      words[i] = x >> 12;
    }
  }
  AddressSpace space() { return AddressSpace({{kBase, bytes_.size(), bytes_.data()}}); }

 private:
  std::vector<uint8_t> bytes_;
};

std::vector<uint8_t> parameters(const Case& c, const KernelInfo& info) {
  std::vector<uint8_t> out(info.param_bytes + 8);
  for (int i = 0; i < c.buffers; ++i) {
    const uint64_t address = kBase + static_cast<uint64_t>(i) * kBufferBytes;
    std::memcpy(&out[info.params[static_cast<size_t>(i)].offset], &address, 8);
  }
  const size_t next = static_cast<size_t>(c.buffers);
  std::memcpy(&out[info.params[next].offset], &c.scalar, 4);
  if (c.last_bytes != 0) std::memcpy(&out[info.params[next + 1].offset], &c.last, c.last_bytes);
  return out;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "ptx_bench: %s\n", why.c_str());
  std::exit(1);
}

Program& program() {
  static const std::shared_ptr<Program> compiled = [] {
    std::ifstream file(GACER_BENCH_PTX);
    std::stringstream text;
    text << file.rdbuf();
    auto result = Program::compile(text.str(), 90);
    if (!result.ok()) give_up(result.error().message);
    return *result;
  }();
  return *compiled;
}

uint32_t index_of(const char* kernel) {
  const auto& kernels = program().kernels();
  for (uint32_t k = 0; k < kernels.size(); ++k)
    if (kernels[k].name == kernel) return k;
  give_up(std::string("no kernel ") + kernel);
}

void run(benchmark::State& state, const Case& c) {
  static Memory memory;
  const AddressSpace space = memory.space();
  const uint32_t kernel = index_of(c.kernel);
  const auto params = parameters(c, program().kernels()[kernel]);
  LaunchShape shape;
  shape.grid = c.grid;
  shape.block = c.block;
  BlockCounters counters;
  for ([[maybe_unused]] auto _ : state)
    for (uint64_t block = 0; block < shape.block_count(); ++block) {
      const Fault fault =
          program().run_block(kernel, shape, block, params.data(), space, {}, 0, counters);
      if (fault.kind != FaultKind::kNone) give_up(fault.message);
    }
  state.counters["thread_instructions"] = benchmark::Counter(
      static_cast<double>(counters.thread_instructions), benchmark::Counter::kIsRate);
  state.counters["warp_instructions"] = benchmark::Counter(
      static_cast<double>(counters.warp_instructions), benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace gacer::simdevice

int main(int argc, char** argv) {
  for (const auto& c : gacer::simdevice::kCases)
    benchmark::RegisterBenchmark(c.kernel, gacer::simdevice::run, c);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
