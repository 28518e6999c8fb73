// SPDX-License-Identifier: Apache-2.0
// validate_micro KERNELS.ptx v100|titanv MHZ: simulated figures of the micro-benchmarks, a line
// "name<tab>value" each. Names are those validate.py makes of the published rows.
//
// Sizes and repetitions are those of the published runs (scripts of eth-easl/gpu-util-interference
// and its fork for the V100). Loops that run thousands of times there run a few times here; the
// time of the rest follows from two such runs.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/bench/validate/lab.h"

namespace gacer::bench {
namespace {

using namespace simdevice;
using TimeOf = std::function<double(int64_t repetitions)>;

void print(const std::string& name, double value) {
  std::printf("%s\t%.6g\n", name.c_str(), value);
  std::fflush(stdout);
}

// Of one repetition more, ns.
double slope(const TimeOf& time_of, int64_t few, int64_t more) {
  return (time_of(more) - time_of(few)) / static_cast<double>(more - few);
}

double extrapolated(const TimeOf& time_of, int64_t few, int64_t more, int64_t all) {
  const double first = time_of(few);
  return first +
         (time_of(more) - first) / static_cast<double>(more - few) * static_cast<double>(all - few);
}

constexpr double kNsPerMs = 1e6;

// ---- V100

class VoltaSharing {
 public:
  explicit VoltaSharing(Lab& lab) : lab_(lab), data_(lab.allocate(1 << 20)) {}

  void run() {
    for (uint32_t blocks : {80u, 160u}) block_scheduler(blocks);
    issue_slots();
    for (uint32_t ways = 1; ways <= 4; ++ways) fp64(ways);
    for (uint64_t mib = 1; mib <= 6; ++mib) l2(mib);
    for (uint64_t kib : {16, 32, 48, 64}) l1(kib);
    for (uint32_t blocks : {40u, 80u, 120u, 160u}) half_the_sms(blocks);
  }

 private:
  using Make = std::function<StartedKernel(int64_t repetitions)>;

  double alone(const StartedKernel& kernel, uint32_t sm_cap = 0) {
    Timeline timeline(lab_.device());
    timeline.launch(timeline.add_stream(timeline.add_client(sm_cap)), kernel);
    return timeline.run();
  }
  double sequential(const StartedKernel& a, const StartedKernel& b) {
    Timeline timeline(lab_.device());
    const uint32_t stream = timeline.add_stream(timeline.add_client());
    timeline.launch(stream, a);
    timeline.launch(stream, b);
    return timeline.run();
  }
  double together(const StartedKernel& a, const StartedKernel& b, uint32_t sm_cap = 0) {
    Timeline timeline(lab_.device());
    const uint32_t client = timeline.add_client(sm_cap);
    const uint32_t other = sm_cap == 0 ? client : timeline.add_client(sm_cap);
    timeline.launch(timeline.add_stream(client), a);
    timeline.launch(timeline.add_stream(other), b);
    return timeline.run();
  }

  void block_scheduler(uint32_t blocks) {
    const Make make = [&](int64_t times) {
      return lab_.run("rest", blocks, 1024, Arguments().add(times), 0);
    };
    const std::string name = "thread_block_scheduler " + std::to_string(blocks) + " ";
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print(name + mode, extrapolated(time_of, 1000, 3000, 100'000) / kNsPerMs);
    };
    report("alone", [&](int64_t n) { return alone(make(n)); });
    report("sequential", [&](int64_t n) { return sequential(make(n), make(n)); });
    report("colocated", [&](int64_t n) { return together(make(n), make(n)); });
  }

  StartedKernel copy(uint32_t blocks, uint64_t bytes, int64_t passes) {
    const uint64_t in = copies_ == 0 ? (copies_ = lab_.allocate(uint64_t{4} << 30)) : copies_;
    return lab_.run("copy_together", blocks, 1024,
                    Arguments()
                        .add(in)
                        .add(in + (uint64_t{2} << 30))
                        .add(static_cast<int64_t>(bytes / 4))
                        .add(passes),
                    2 * bytes);
  }

  // One repetition stands for 1/40 of each kernel.
  void issue_slots() {
    constexpr uint64_t kBytes = uint64_t{2} << 30;
    constexpr int64_t kProductsPerPass = 20'000'000 / 40;
    const StartedKernel one = copy(80, kBytes, 1), two = copy(80, kBytes, 2);
    const Make copying = [&](int64_t n) { return n == 1 ? one : two; };
    // The cost of the loop is proportional to its length.
    const Make computing = [&](int64_t n) {
      StartedKernel kernel = multiply("multiply_float_4", 20'000);
      scale(kernel, static_cast<double>(n * kProductsPerPass) / 20'000.0);
      return kernel;
    };
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print(std::string("issue_slots_ipc ") + mode, extrapolated(time_of, 1, 2, 40) / kNsPerMs);
    };
    report("copy alone", [&](int64_t n) { return alone(copying(n)); });
    report("compute alone", [&](int64_t n) { return alone(computing(n)); });
    report("sequential", [&](int64_t n) { return sequential(copying(n), computing(n)); });
    report("colocated", [&](int64_t n) { return together(computing(n), copying(n)); });
  }

  static void scale(StartedKernel& kernel, double by) {
    kernel.cost.alone_ns *= by;
    for (double& pipe : kernel.cost.pipe_ns) pipe *= by;
    kernel.cost.caches = nullptr;
  }

  StartedKernel multiply(const std::string& kernel, int64_t times) {
    return lab_.run(kernel, 80, 128, Arguments().add(data_).add(data_ + 65536).add(times), 4096);
  }

  void fp64(uint32_t ways) {
    const std::string kernel = "multiply_double_" + std::to_string(ways);
    const Make make = [&](int64_t times) { return multiply(kernel, times); };
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print("fp64_pipeline " + std::to_string(ways) + " " + mode,
            extrapolated(time_of, 8000, 16000, 20'000'000) / kNsPerMs);
    };
    report("sequential", [&](int64_t n) { return sequential(make(n), make(n)); });
    report("colocated", [&](int64_t n) { return together(make(n), make(n)); });
  }

  void l2(uint64_t mib) {
    const Make make = [&](int64_t passes) { return copy(40, mib << 20, passes); };
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print("l2_cache " + std::to_string(mib) + " " + mode,
            extrapolated(time_of, 20, 40, 10'000) / kNsPerMs);
    };
    report("alone", [&](int64_t n) { return alone(make(n)); });
    report("colocated", [&](int64_t n) { return together(make(n), make(n)); });
  }

  void l1(uint64_t kib) {
    const uint64_t bytes = uint64_t{80} * 128 << 10;
    const uint64_t in = lab_.allocate(2 * bytes);
    const Make make = [&](int64_t passes) {
      return lab_.run("copy_own_part", 80, 64,
                      Arguments()
                          .add(in)
                          .add(in + bytes)
                          .add(static_cast<int32_t>(kib << 8))
                          .add(32 << 10)
                          .add(static_cast<int32_t>(passes)),
                      2 * bytes);
    };
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print("l1_cache " + std::to_string(kib) + " " + mode,
            extrapolated(time_of, 20, 40, 15'000) / kNsPerMs);
    };
    report("sequential", [&](int64_t n) { return sequential(make(n), make(n)); });
    report("colocated", [&](int64_t n) { return together(make(n), make(n)); });
  }

  void half_the_sms(uint32_t blocks) {
    constexpr uint64_t kBytes = uint64_t{2} << 30;
    const StartedKernel one = copy(blocks, kBytes, 1), two = copy(blocks, kBytes, 2);
    const auto report = [&](const char* mode, const TimeOf& time_of) {
      print("memory_bandwidth_mps50 " + std::to_string(blocks) + " " + mode,
            extrapolated(time_of, 1, 2, 50) / kNsPerMs);
    };
    report("alone", [&](int64_t n) { return alone(n == 1 ? one : two, 40); });
    report("colocated",
           [&](int64_t n) { return n == 1 ? together(one, one, 40) : together(two, two, 40); });
  }

  Lab& lab_;
  uint64_t data_;
  uint64_t copies_ = 0;
};

// ---- TITAN V

class VoltaFigures {
 public:
  explicit VoltaFigures(Lab& lab) : lab_(lab), data_(lab.allocate(1 << 20)) {}

  void run() {
    arithmetic();
    latencies();
    bandwidths();
    print("kernel_launch_latency", clocks(launch_ns()));
  }

 private:
  double clocks(double ns) { return ns * lab_.device().spec.clock_mhz / 1000.0; }
  double sms() { return lab_.device().spec.sm_count; }

  double time_of(const std::string& kernel, uint32_t blocks, uint32_t threads,
                 const Arguments& arguments, uint64_t footprint) {
    Timeline timeline(lab_.device());
    timeline.launch(timeline.add_stream(timeline.add_client()),
                    lab_.run(kernel, blocks, threads, arguments, footprint));
    return timeline.run();
  }
  // Work of one repetition of all threads of the device, by clock and SM.
  double rate(const TimeOf& time, int64_t few, int64_t more, double work) {
    return work / clocks(slope(time, few, more)) / sms();
  }

  double looped(const std::string& kernel, uint32_t blocks, uint32_t threads, int64_t times) {
    return time_of(kernel, blocks, threads, Arguments().add(data_).add(times), 4096);
  }

  void arithmetic() {
    const auto full = [&](const std::string& kernel, double flops_of_thread) {
      return rate([&](int64_t n) { return looped(kernel, 160, 1024, n); }, 1000, 2000,
                  160 * 1024.0 * flops_of_thread);
    };
    print("fp32_flop_per_clk_sm", full("fuse_float", 8));
    print("fp64_flop_per_clk_sm", full("fuse_double", 8));
    print("fp16_flop_per_clk_sm", full("fuse_half2", 16));
    const auto tiles = [&](int64_t n) {
      return time_of("multiply_tiles", 160, 1024, Arguments().add(data_).add(data_ + 65536).add(n),
                     4096);
    };
    print("tensor_fma_per_clk_sm", rate(tiles, 200, 400, 160 * 32.0 * 2 * 4096));
  }

  // A ring of addresses `stride` bytes apart.
  uint64_t ring(uint64_t bytes, uint64_t stride) {
    const uint64_t base = lab_.allocate(bytes);
    for (uint64_t at = 0; at < bytes; at += stride) {
      const uint64_t next = base + (at + stride) % bytes;
      std::memcpy(lab_.host(base + at), &next, sizeof next);
    }
    return base;
  }

  double chase(uint64_t bytes, uint64_t stride, int64_t few, int64_t more) {
    const uint64_t base = ring(bytes, stride);
    return clocks(slope(
        [&](int64_t steps) {
          return time_of("chase", 1, 1, Arguments().add(base).add(data_).add(steps), bytes);
        },
        few, more));
  }

  void latencies() {
    print("l1_latency", chase(8 << 10, 32, 2048, 4096));
    print("shared_latency",
          clocks(slope([&](int64_t n) { return looped("chase_shared", 1, 32, n); }, 2048, 4096)));
    // Far more than L1 holds, less than L2 does.
    print("l2_hit_latency", chase(2 << 20, 32, 4 << 16, 8 << 16));
    // Every step to a place never seen before.
    print("dram_latency", chase(uint64_t{256} << 20, 1024, 50'000, 100'000));
    print("atomic_add_latency", clocks(slope(
                                    [&](int64_t n) {
                                      return time_of(
                                          "add_in_turn", 1, 1,
                                          Arguments().add(data_).add(data_ + 4096).add(n), 8192);
                                    },
                                    2048, 4096)));
  }

  double reading(uint64_t start, uint64_t elements, uint64_t stride, int64_t passes,
                 uint64_t footprint) {
    return time_of("read_part", 160, 1024,
                   Arguments()
                       .add(start)
                       .add(data_)
                       .add(static_cast<int64_t>(elements))
                       .add(static_cast<int64_t>(stride))
                       .add(passes),
                   footprint);
  }

  void bandwidths() {
    // 32 KiB a block, three blocks an SM: in L1.
    const uint64_t small = lab_.allocate(8 << 20);
    const auto near = [&](int64_t n) {
      return time_of("read_part", 240, 256,
                     Arguments().add(small).add(data_).add(int64_t{2048}).add(int64_t{2048}).add(n),
                     240 << 15);
    };
    print("l1_bandwidth", rate(near, 50, 100, 240 * 32768.0));
    print("shared_bandwidth", rate([&](int64_t n) { return looped("read_shared", 160, 1024, n); },
                                   50, 100, 160 * 1024.0 * 8 * 16));
    // All blocks go through the same 2 MiB: past L1, inside L2.
    print("l2_bandwidth",
          sms() * rate([&](int64_t n) { return reading(small, 131'072, 0, n, 2 << 20); }, 4, 8,
                       160 * 2097152.0));
    const uint64_t large = lab_.allocate(uint64_t{1} << 30);
    const double ns = reading(large, (1 << 30) / 16 / 160, (1 << 30) / 16 / 160, 1, 1 << 30);
    print("dram_bandwidth GB/s", (1 << 30) / ns);
    print("dram_bandwidth byte/clk", (1 << 30) / clocks(ns));
  }

  double launch_ns() {
    Timeline timeline(lab_.device());
    const uint32_t stream = timeline.add_stream(timeline.add_client());
    timeline.launch(stream, lab_.run("nothing", 1, 1, Arguments(), 0));
    timeline.run();
    return timeline.end_ns();
  }

  Lab& lab_;
  uint64_t data_;
};

std::string text_of(const char* path) {
  std::ifstream file(path);
  if (!file) give_up(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace
}  // namespace gacer::bench

int main(int argc, char** argv) {
  using namespace gacer::bench;
  if (argc != 4) give_up("usage: validate_micro KERNELS.ptx V100|TITANV MHZ");
  const auto* model = gacer::simdevice::find_device_model(argv[2]);
  if (model == nullptr) give_up(std::string("no device ") + argv[2]);
  gacer::simdevice::DeviceModel device = *model;
  if (const long mhz = std::atol(argv[3]); mhz > 0)
    device.spec.clock_mhz = static_cast<uint32_t>(mhz);
  Lab lab(device, text_of(argv[1]));
  if (device.spec.key == "V100") {
    VoltaSharing(lab).run();
  } else {
    VoltaFigures(lab).run();
  }
}
