// SPDX-License-Identifier: Apache-2.0
// validate_operators KERNELS.ptx KEY MHZ < ROWS: predicted durations of single operators. A row:
// "NAME OP ROWS WIDTH" or "NAME gemm BLOCKS THREADS TILE_ROWS TILE_COLUMNS DEPTH BYTES" (depth: of
// one block, bytes: of all matrices); prints "NAME<tab>ms". Element-wise operators, softmax and
// layer norm are executed (plain kernels of kernels.cu, not a library's); products of matrices are
// counted from the arithmetic of their tiles.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "tests/bench/validate/lab.h"

namespace gacer::bench {
namespace {

using namespace simdevice;

double time_ns(Lab& lab, const StartedKernel& kernel) {
  Timeline timeline(lab.device());
  timeline.launch(timeline.add_stream(timeline.add_client()), kernel);
  return timeline.run();
}

class Operators {
 public:
  explicit Operators(Lab& lab) : lab_(lab), memory_(lab.allocate(kBytes)) {}

  double rows(const std::string& op, uint64_t rows, uint64_t width) {
    const uint64_t bytes = (rows * width * 4 + 255) / 256 * 256;
    const bool two = op == "add";
    if (3 * bytes > kBytes) give_up("an operator of more than 21 GiB");
    const uint64_t in = memory_, other = in + bytes, out = other + bytes;
    if (op == "softmax" || op == "layer_norm") {
      const auto arguments = Arguments().add(in).add(out).add(static_cast<int32_t>(width));
      return time_ns(lab_, lab_.run(op, static_cast<uint32_t>(rows), 256, arguments, 2 * bytes));
    }
    const int64_t vectors = static_cast<int64_t>(rows * width / 4);
    const auto blocks = static_cast<uint32_t>((vectors + 127) / 128);
    Arguments arguments = Arguments().add(in);
    if (two) arguments.add(other);
    arguments.add(out).add(vectors);
    return time_ns(lab_, lab_.run(op, blocks, 128, arguments, (two ? 3 : 2) * bytes));
  }

  // Blocks that make a tile each over a part of the depth, operands through shared memory, eight by
  // eight results a thread: what libraries do for fp32.
  struct Tiles {
    uint64_t blocks = 1, threads = 256, rows = 128, columns = 128, depth = 1, footprint_bytes = 0;
  };
  double gemm(const Tiles& t) {
    const uint64_t warps = std::max<uint64_t>(1, t.threads / 32);
    BlockCounters c;
    c.warps = warps;
    c.fp32_warp = t.rows * t.columns * t.depth / 32;
    c.shared_warp = c.shared_beats = c.fp32_warp / 16;
    c.int_warp = c.fp32_warp / 32;
    c.unique_bytes_read = (t.rows + t.columns) * t.depth * 4;
    c.unique_bytes_written = t.rows * t.columns * 4;
    c.global_sectors_read = c.unique_bytes_read / 32;
    c.global_sectors_written = c.unique_bytes_written / 32;
    c.memory_warp = c.shared_warp + c.unique_bytes_read / 512 * 2;
    c.warp_instructions = c.fp32_warp + c.int_warp + c.memory_warp;
    c.longest_warp_instructions = c.warp_instructions / warps;
    // Loads are hidden behind the arithmetic of the step before: 64 independent sums a thread.
    c.chain[static_cast<size_t>(Latency::kAlu)] = c.fp32_warp / 64 * 16;
    const KernelShape shape{static_cast<uint32_t>(t.threads), 128, 32768, t.blocks,
                            t.footprint_bytes};
    return time_ns(lab_, {kernel_cost(lab_.device(), shape, c, 1), t.blocks});
  }

 private:
  static constexpr uint64_t kBytes = uint64_t{64} << 30;
  Lab& lab_;
  uint64_t memory_;
};

}  // namespace
}  // namespace gacer::bench

int main(int argc, char** argv) {
  using namespace gacer::bench;
  if (argc != 4) give_up("usage: validate_operators KERNELS.ptx KEY MHZ");
  const auto* model = gacer::simdevice::find_device_model(argv[2]);
  std::ifstream file(argv[1]);
  if (model == nullptr || !file) give_up(std::string("no device or no file: ") + argv[2]);
  gacer::simdevice::DeviceModel device = *model;
  if (const long mhz = std::atol(argv[3]); mhz > 0)
    device.spec.clock_mhz = static_cast<uint32_t>(mhz);
  Lab lab(device, std::string(std::istreambuf_iterator<char>(file), {}));
  Operators operators(lab);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string name, op;
    in >> name >> op;
    Operators::Tiles t;
    uint64_t rows = 0, width = 0;
    if (op == "gemm") {
      in >> t.blocks >> t.threads >> t.rows >> t.columns >> t.depth >> t.footprint_bytes;
    } else {
      in >> rows >> width;
    }
    if (!in) give_up("not a row: " + line);
    const double ns = op == "gemm" ? operators.gemm(t) : operators.rows(op, rows, width);
    std::printf("%s\t%.6f\n", name.c_str(), ns / 1e6);
  }
}
