// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/kernel_runner.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/simdevice/server/foreign_shadow.h"
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

std::vector<uint64_t> pointers_of(const Launch& launch) {
  std::vector<uint64_t> pointers;
  for_each_param_word(launch.params, [&](uint64_t word) {
    if (looks_like_pointer(word)) pointers.push_back(word);
  });
  return pointers;
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
  // Thread-safe.
  bool hung_up() {
    if (socket_fd_ < 0) return false;
    const std::lock_guard lock(mutex_);
    const uint64_t now_ns = monotonic_now_ns();
    if (hung_up_ || now_ns - looked_ns_ < kLookEveryNs) return hung_up_;
    looked_ns_ = now_ns;
    pollfd wanted{socket_fd_, 0, 0};
    hung_up_ = ::poll(&wanted, 1, 0) == 1 && (wanted.revents & (POLLHUP | POLLERR)) != 0;
    return hung_up_;
  }
  // Whether hung_up() said so once; when nobody calls it any more.
  bool seen() const { return hung_up_; }

 private:
  static constexpr uint64_t kLookEveryNs = 20'000'000;
  int socket_fd_;
  std::mutex mutex_;
  uint64_t looked_ns_;
  bool hung_up_ = false;
};

// Of what printf printed; the client reads the file. A full disk loses text, nothing else.
void append_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

KernelShape shape_of(const Launch& launch) {
  const KernelInfo& info = launch.module->program->kernels()[launch.kernel];
  KernelShape shape;
  shape.threads_per_block = launch.shape.threads_per_block();
  shape.regs_per_thread = info.regs_per_thread;
  shape.smem_bytes_per_block = info.static_smem_bytes + launch.shape.dynamic_smem_bytes;
  shape.blocks = launch.shape.block_count();
  return shape;
}

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
  for (const uint64_t pointer : pointers_of(launch)) bytes += memory.bytes_from(pointer);
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
  for (uint32_t blocks : launch.shape.cluster) hash.add(blocks);
  const uint64_t shape = hash.value();
  for_each_param_word(launch.params,
                      [&](uint64_t word) { hash.add(looks_like_pointer(word) ? 1 : word); });
  return {shape, hash.value()};
}

bool KernelRunner::find_given_cost(const Launch& launch, LaunchOutcome& outcome) const {
  if (costs_ == nullptr) return false;
  const std::string& name = launch.module->program->kernels()[launch.kernel].name;
  const auto found = costs_->find(device_, name, shape_of(launch));
  if (!found) return false;
  outcome.cost = found->cost;
  outcome.blocks = found->blocks;
  return true;
}

LaunchOutcome KernelRunner::run(const Launch& launch, ClientMemory& memory, uint64_t model_ns) {
  LaunchOutcome outcome;
  outcome.blocks = launch.shape.block_count();
  const bool computes = mode_ == ExecMode::kFull && !launch.module->program->is_machine_code();
  if (find_given_cost(launch, outcome)) {
    if (computes) run_blocks(launch, {}, memory, model_ns, outcome.fault);
    return outcome;
  }
  const Counted counted = count(launch, memory, model_ns, outcome.fault);
  KernelShape shape = shape_of(launch);
  shape.footprint_bytes = footprint_bytes(launch, memory);
  outcome.cost = kernel_cost(device_, shape, counted.sum, counted.blocks);
  return outcome;
}

KernelRunner::Counted KernelRunner::count(const Launch& launch, ClientMemory& memory,
                                          uint64_t model_ns, Fault& fault) {
  // There is nothing to run.
  if (launch.module->program->is_machine_code()) return {guess(launch), 1};
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
  auto last = std::unique(blocks.begin(), blocks.end());
  // Blocks that meet at a barrier of the grid cannot be run without the others.
  if (launch.cooperative) last = blocks.begin();
  Fault fault;
  Counted counted = run_blocks(launch, {blocks.begin(), last}, memory, model_ns, fault);
  // Blocks that were skipped left their results unwritten: a wrong index read from there is no
  // fault of the program.
  if (fault.kind != FaultKind::kNone)
    log_line(LogLevel::kWarn, "simgpu-server", "sample run ended early: %s", fault.message.c_str());
  if (counted.blocks == 0) counted = {guess(launch), 1};
  return counted;
}

// As many as an idle device holds at a time.
uint64_t KernelRunner::resident_blocks(const Launch& launch) const {
  KernelCost cost;
  set_residency(device_.spec, shape_of(launch), cost);
  return uint64_t{blocks_per_sm(device_.spec, cost)} * device_.spec.sm_count;
}

// `sample` empty: all blocks. Faulted blocks count too, as far as they came.
KernelRunner::Counted KernelRunner::run_blocks(const Launch& launch,
                                               std::span<const uint64_t> sample,
                                               ClientMemory& memory, uint64_t model_ns,
                                               Fault& fault) {
  const ForeignShadow registered(pointers_of(launch), memory, memory.space(launch.module->context));
  GridLaunch grid;
  grid.kernel = launch.kernel;
  grid.shape = launch.shape;
  grid.params = launch.params.data();
  grid.memory = &registered.space();
  grid.clock = {model_ns, model_ns * device_.spec.clock_mhz / 1000, device_.spec.clock_mhz};
  grid.budget_warp_instructions =
      sample.empty() ? block_budget_ : std::min(block_budget_, kSampleBudget);
  grid.resident_blocks = resident_blocks(launch);
  grid.cooperative = launch.cooperative;
  grid.sm_count = device_.spec.sm_count;
  grid.grid_id = ++launches_;
  grid.heap = launch.heap;
  grid.textures = launch.textures;
  if (launch.print_fd >= 0)
    grid.print = [fd = launch.print_fd](std::string_view text) { append_text(fd, text); };
  grid.sample.assign(sample.begin(), sample.end());
  const auto run = launch.module->program->start_grid(grid);
  HangUpWatch watch(launch.client_socket);
  const std::function<bool()> hung_up = [&] { return watch.hung_up(); };
  const uint64_t blocks = sample.empty() ? launch.shape.block_count() : sample.size();
  pool_.run(std::min<uint64_t>(pool_.workers(), blocks), [&](uint64_t, unsigned) {
    run->work(hung_up);
    return true;
  });
  if (watch.seen()) memory.note_owner_is_gone();
  registered.write_back(memory);
  fault = run->fault();
  return {run->counters(), run->blocks_run()};
}

}  // namespace gacer::simdevice
