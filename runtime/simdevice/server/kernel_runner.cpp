// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/kernel_runner.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {
namespace {

constexpr size_t kSampleBlocks = 4;
constexpr size_t kMostSamples = 65536;
constexpr uint32_t kMostVariants = 64;  // of one shape, by scalars
constexpr uint64_t kSampleBudget = 50'000'000;
constexpr uint64_t kGuessedInstructionsPerWarp = 200;  // ExecMode::kNone: nothing is known
constexpr uint64_t kGuessedBytesPerThread = 16;

// FNV-1a over 64-bit words with a final mix; keys are compared only with keys of the same run.
class Hash {
 public:
  void add(uint64_t word) { state_ = (state_ ^ word) * 0x100000001b3ULL ^ (state_ >> 29); }
  uint64_t value() const { return state_ ^ (state_ >> 32); }

 private:
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

template <typename Visit>
void for_each_param_word(std::span<const uint8_t> params, Visit visit) {
  for (size_t offset = 0; offset < params.size(); offset += 8) {
    uint64_t word = 0;
    std::memcpy(&word, params.data() + offset, std::min<size_t>(8, params.size() - offset));
    visit(word);
  }
}

bool looks_like_pointer(uint64_t word) {
  return word >= kDeviceBase && word < (1ULL << 48);
}

BlockCounters guess(const Launch& launch) {
  const uint64_t threads = launch.shape.threads_per_block();
  BlockCounters counters;
  counters.warp_instructions = (threads + 31) / 32 * kGuessedInstructionsPerWarp;
  counters.longest_warp_instructions = kGuessedInstructionsPerWarp;
  counters.unique_bytes_read = threads * kGuessedBytesPerThread;
  return counters;
}

// Tells whether the client of a long run is still there, looking at its socket now and then.
class HangUpWatch {
 public:
  explicit HangUpWatch(int socket_fd) : socket_fd_(socket_fd), looked_ns_(monotonic_now_ns()) {}
  bool hung_up() {
    if (socket_fd_ < 0) return false;
    const uint64_t now_ns = monotonic_now_ns();
    if (now_ns - looked_ns_ < kLookEveryNs) return false;
    looked_ns_ = now_ns;
    pollfd wanted{socket_fd_, 0, 0};
    return ::poll(&wanted, 1, 0) == 1 && (wanted.revents & (POLLHUP | POLLERR)) != 0;
  }

 private:
  static constexpr uint64_t kLookEveryNs = 20'000'000;
  int socket_fd_;
  uint64_t looked_ns_;
};

std::array<uint64_t, kSampleBlocks> spread_blocks(uint64_t blocks) {
  std::array<uint64_t, kSampleBlocks> chosen{};
  for (size_t i = 0; i < kSampleBlocks; ++i)
    chosen[i] = static_cast<uint64_t>((static_cast<double>(i) + 0.5) / kSampleBlocks *
                                      static_cast<double>(blocks));
  return chosen;
}

}  // namespace

uint64_t footprint_bytes(const Launch& launch, const ClientMemory& memory) {
  uint64_t bytes = 0;
  for_each_param_word(launch.params, [&](uint64_t word) {
    if (looks_like_pointer(word)) bytes += memory.bytes_from(word);
  });
  return bytes;
}

// Of the shape alone, and with the scalars too: sizes and strides change a kernel's cost, pointers
// do not.
KernelRunner::SampleKeys KernelRunner::sample_keys(const Launch& launch) {
  Hash hash;
  hash.add(launch.module->content_hash);
  hash.add(launch.kernel);
  for (int i = 0; i < 3; ++i)
    hash.add(uint64_t{launch.shape.grid[i]} << 32 | launch.shape.block[i]);
  hash.add(launch.shape.dynamic_smem_bytes);
  const uint64_t shape = hash.value();
  for_each_param_word(launch.params,
                      [&](uint64_t word) { hash.add(looks_like_pointer(word) ? 1 : word); });
  return {shape, hash.value()};
}

LaunchOutcome KernelRunner::run(const Launch& launch, ClientMemory& memory, uint64_t model_ns) {
  LaunchOutcome outcome;
  const Counted counted = count(launch, memory, model_ns, outcome.fault);
  const KernelInfo& info = launch.module->program->kernels()[launch.kernel];
  KernelShape shape;
  shape.threads_per_block = launch.shape.threads_per_block();
  shape.regs_per_thread = info.regs_per_thread;
  shape.smem_bytes_per_block = info.static_smem_bytes + launch.shape.dynamic_smem_bytes;
  shape.blocks = launch.shape.block_count();
  shape.footprint_bytes = footprint_bytes(launch, memory);
  outcome.cost = kernel_cost(device_, shape, counted.sum, counted.blocks);
  return outcome;
}

KernelRunner::Counted KernelRunner::count(const Launch& launch, ClientMemory& memory,
                                          uint64_t model_ns, Fault& fault) {
  switch (mode_) {
    case ExecMode::kFull:
      return run_blocks(launch, {}, memory, model_ns, fault);
    case ExecMode::kSample:
      return sampled(launch, memory, model_ns);
    case ExecMode::kNone:
      break;
  }
  return {guess(launch), 1};
}

KernelRunner::Counted KernelRunner::sampled(const Launch& launch, ClientMemory& memory,
                                            uint64_t model_ns) {
  const SampleKeys keys = sample_keys(launch);
  if (const auto known = samples_.find(keys.exact); known != samples_.end()) return known->second;
  // A scalar that differs in every launch (a step number, a seed) must not make each of them a
  // sample.
  Variants& variants = variants_[keys.shape];
  if (variants.sampled >= kMostVariants) return variants.newest;
  const Counted counted = sample(launch, memory, model_ns);
  if (samples_.size() >= kMostSamples) samples_.clear();
  samples_[keys.exact] = counted;
  ++variants.sampled;
  variants.newest = counted;
  return counted;
}

KernelRunner::Counted KernelRunner::sample(const Launch& launch, ClientMemory& memory,
                                           uint64_t model_ns) {
  auto blocks = spread_blocks(launch.shape.block_count());
  const auto last = std::unique(blocks.begin(), blocks.end());
  Fault fault;
  Counted counted = run_blocks(launch, {blocks.begin(), last}, memory, model_ns, fault);
  // Blocks that were skipped left their results unwritten: a wrong index read from there is no
  // fault of the program.
  if (fault.kind != FaultKind::kNone)
    log_line(LogLevel::kWarn, "simgpu-server", "sample run ended early: %s", fault.message.c_str());
  if (counted.blocks == 0) counted = {guess(launch), 1};
  return counted;
}

// `sample` empty: all blocks. Faulted blocks count too, as far as they came.
KernelRunner::Counted KernelRunner::run_blocks(const Launch& launch,
                                               std::span<const uint64_t> sample,
                                               ClientMemory& memory, uint64_t model_ns,
                                               Fault& fault) {
  const AddressSpace& space = memory.space(launch.module->context);
  const LaunchClock clock{model_ns, model_ns * device_.spec.clock_mhz / 1000};
  const uint64_t budget = sample.empty() ? block_budget_ : std::min(block_budget_, kSampleBudget);
  const uint64_t count = sample.empty() ? launch.shape.block_count() : sample.size();
  std::vector<Counted> by_worker(pool_.workers());
  std::mutex fault_mutex;
  uint64_t fault_block = UINT64_MAX;
  HangUpWatch watch(launch.client_socket);
  pool_.run(count, [&](uint64_t index, unsigned worker) {
    const uint64_t block = sample.empty() ? index : sample[index];
    Counted& own = by_worker[worker];
    Fault found = launch.module->program->run_block(
        launch.kernel, launch.shape, block, launch.params.data(), space, clock, budget, own.sum);
    ++own.blocks;
    if (found.kind == FaultKind::kNone) return worker != 0 || !watch.hung_up();
    const std::lock_guard lock(fault_mutex);
    if (block < fault_block) {
      fault_block = block;
      fault = std::move(found);
    }
    return false;
  });
  Counted total;
  for (const Counted& part : by_worker) {
    total.sum.add(part.sum);
    total.blocks += part.blocks;
  }
  return total;
}

}  // namespace gacer::simdevice
