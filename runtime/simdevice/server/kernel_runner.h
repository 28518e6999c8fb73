// SPDX-License-Identifier: Apache-2.0
// Executes launches (all blocks, a sample, or none) and turns what they did into the cost that the
// engine charges.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "runtime/simdevice/engine/cost_file.h"
#include "runtime/simdevice/engine/kernel_cost.h"
#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/server/block_pool.h"
#include "runtime/simdevice/server/client_memory.h"
#include "runtime/simdevice/server/module_store.h"

namespace gacer::simdevice {

enum class ExecMode { kFull, kSample, kNone };

struct Launch {
  const LoadedModule* module = nullptr;
  uint32_t kernel = 0;
  LaunchShape shape;
  std::span<const uint8_t> params;
  bool cooperative = false;
  DeviceHeap* heap = nullptr;
  const TextureTable* textures = nullptr;
  int print_fd = -1;       // printf appends there; -1: stderr
  int client_socket = -1;  // its hang-up ends a long run early; -1: none
};

struct LaunchOutcome {
  Fault fault;
  KernelCost cost;
  uint64_t blocks = 1;  // that the engine has to run
};

// Not thread-safe.
class KernelRunner {
 public:
  KernelRunner(const DeviceModel& device, ExecMode mode, unsigned threads, uint64_t block_budget)
      : device_(device), mode_(mode), block_budget_(block_budget), pool_(threads) {}

  // Kernels in it take the times it gives; nullptr: none. Must outlive this.
  void set_costs(const CostFile* costs) { costs_ = costs; }

  LaunchOutcome run(const Launch& launch, ClientMemory& memory, uint64_t model_ns);

 private:
  struct Counted {
    BlockCounters sum;
    uint64_t blocks = 0;
  };
  struct SampleKeys {
    uint64_t shape = 0;
    uint64_t exact = 0;
  };
  struct Variants {
    uint32_t sampled = 0;
    Counted newest;
  };
  Counted count(const Launch& launch, ClientMemory& memory, uint64_t model_ns, Fault& fault);
  Counted run_blocks(const Launch& launch, std::span<const uint64_t> sample, ClientMemory& memory,
                     uint64_t model_ns, Fault& fault);
  uint64_t resident_blocks(const Launch& launch) const;
  Counted sampled(const Launch& launch, ClientMemory& memory, uint64_t model_ns);
  Counted sample(const Launch& launch, ClientMemory& memory, uint64_t model_ns);
  static SampleKeys sample_keys(const Launch& launch);
  bool find_given_cost(const Launch& launch, LaunchOutcome& outcome) const;

  const DeviceModel& device_;
  ExecMode mode_;
  uint64_t block_budget_;
  BlockPool pool_;
  const CostFile* costs_ = nullptr;
  uint64_t launches_ = 0;
  std::unordered_map<uint64_t, Counted> samples_;    // by SampleKeys::exact
  std::unordered_map<uint64_t, Variants> variants_;  // by SampleKeys::shape
};

// Bytes of all allocations that 8-byte words of the parameters point into, each from the pointer to
// its end.
uint64_t footprint_bytes(const Launch& launch, const ClientMemory& memory);

}  // namespace gacer::simdevice
