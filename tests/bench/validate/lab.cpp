// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/validate/lab.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gacer::bench {
namespace {

using namespace simdevice;

constexpr uint64_t kFirstAddress = 0x7000'0000'0000ULL;
constexpr uint64_t kAlignment = 2 << 20;
constexpr uint64_t kSampledBlocks = 4;
constexpr int kNewestTarget = 90;

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "validate: %s\n", why.c_str());
  std::exit(1);
}

Lab::Lab(const DeviceModel& device, std::string_view ptx) : device_(device) {
  auto program = Program::compile(ptx, kNewestTarget);
  if (!program.ok()) give_up(program.error().message);
  program_ = *program;
}

Lab::~Lab() {
  for (const MemoryRegion& region : regions_) ::munmap(region.host, region.bytes);
}

uint64_t Lab::allocate(uint64_t bytes) {
  void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED) give_up("no memory for " + std::to_string(bytes) + " bytes");
  const uint64_t end =
      regions_.empty() ? kFirstAddress : regions_.back().base + regions_.back().bytes;
  const uint64_t base = (end + kAlignment - 1) / kAlignment * kAlignment;
  regions_.push_back({base, bytes, static_cast<uint8_t*>(host)});
  return base;
}

uint8_t* Lab::host(uint64_t address) {
  for (const MemoryRegion& region : regions_)
    if (address - region.base < region.bytes) return region.host + (address - region.base);
  return nullptr;
}

StartedKernel Lab::run(const std::string& kernel, uint32_t blocks, uint32_t threads,
                       const Arguments& arguments, uint64_t footprint_bytes) {
  const auto& kernels = program_->kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelInfo& info) { return info.name == kernel; });
  if (found == kernels.end()) give_up("no kernel " + kernel);
  LaunchShape shape;
  shape.grid[0] = blocks;
  shape.block[0] = threads;
  std::vector<uint8_t> params = arguments.bytes();
  params.resize(std::max<size_t>(params.size(), found->param_bytes));
  const AddressSpace space(regions_);
  const uint64_t sampled = std::min<uint64_t>(blocks, kSampledBlocks);
  BlockCounters counters;
  for (uint64_t i = 0; i < sampled; ++i) {
    const Fault fault = program_->run_block(static_cast<uint32_t>(found - kernels.begin()), shape,
                                            (2 * i + 1) * blocks / (2 * sampled), params.data(),
                                            space, {0, 0, device_.spec.clock_mhz}, 0, counters);
    if (fault.kind != FaultKind::kNone) give_up(fault.message);
  }
  const KernelShape needs{threads, found->regs_per_thread, found->static_smem_bytes, blocks,
                          footprint_bytes};
  return {kernel_cost(device_, needs, counters, sampled), blocks};
}

void Timeline::launch(uint32_t stream, const StartedKernel& kernel) {
  OpSpec spec;
  spec.stream = stream;
  spec.kind = OpKind::kKernel;
  spec.cookie = launches_.size();
  launches_.push_back({kernel});
  engine_.submit(spec, 0);
}

double Timeline::run() {
  for (uint64_t next = engine_.next_event_ns(); next != kNever; next = engine_.next_event_ns())
    engine_.advance_to(next);
  uint64_t begin = kNever, end = 0;
  for (const Launch& launch : launches_) {
    begin = std::min(begin, launch.start_ns);
    end = std::max(end, launch.end_ns);
  }
  return static_cast<double>(end - begin);
}

double Timeline::duration(size_t n) const {
  return static_cast<double>(launches_[n].end_ns - launches_[n].start_ns);
}

double Timeline::end_ns() const {
  uint64_t end = 0;
  for (const Launch& launch : launches_) end = std::max(end, launch.end_ns);
  return static_cast<double>(end);
}

StartResult Timeline::op_started(const Op& op, uint64_t) {
  StartResult result;
  result.kernel = launches_[op.spec.cookie].kernel;
  return result;
}

void Timeline::op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) {
  launches_[op.spec.cookie].start_ns = start_ns;
  launches_[op.spec.cookie].end_ns = end_ns;
}

}  // namespace gacer::bench
