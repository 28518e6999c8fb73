// SPDX-License-Identifier: Apache-2.0
// A module compiled from PTX for the CPU, and the call that runs one block of a kernel.
//
//   PTX text --ptx::parse--> AST --Program::compile--> pre-decoded warp-wide code --run_block-->
//   bytes + counters
//
// Contract
//  - A Program is immutable after compile(); run_block may be called from several threads at once
//  on
//    different blocks of the same launch (blocks share only device memory; atomics are real
//    atomics).
//  - All device addresses are 64-bit. Global, constant and module-scope addresses are looked up in
//  the
//    AddressSpace of the launch; shared and local memory belong to the block and have windows of
//    their own in the generic address space (kSharedWindow, kLocalWindow below).
//  - Anything a program does wrong (out of bounds, misaligned, trap, unsupported at run time) comes
//  back as
//    a Fault; nothing aborts.
//  - Source: PTX ISA 9.0, https://docs.nvidia.com/cuda/parallel-thread-execution/
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::simdevice {

// Generic-address windows (each 2^32 bytes) that no device allocation may overlap.
inline constexpr uint64_t kSharedWindow = 0x0000'0001'0000'0000ULL;
inline constexpr uint64_t kLocalWindow = 0x0000'0002'0000'0000ULL;

// Device addresses [base, base + bytes) live at host memory `host`.
struct MemoryRegion {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t* host = nullptr;
};

// The regions one context may touch, sorted by base, not overlapping. Immutable while a launch
// runs.
class AddressSpace {
 public:
  AddressSpace() = default;
  // Precondition: sorted by base and disjoint.
  explicit AddressSpace(std::vector<MemoryRegion> regions) : regions_(std::move(regions)) {}

  // The region that holds all of [address, address + bytes), or nullptr. `hint` carries the last
  // hit of the caller (one per thread) so that the common case is one comparison.
  const MemoryRegion* find(uint64_t address, uint64_t bytes, const MemoryRegion*& hint) const {
    if (hint != nullptr && address - hint->base < hint->bytes &&
        bytes <= hint->bytes - (address - hint->base))
      return hint;
    return find_slow(address, bytes, hint);
  }
  const std::vector<MemoryRegion>& regions() const { return regions_; }

 private:
  const MemoryRegion* find_slow(uint64_t address, uint64_t bytes, const MemoryRegion*& hint) const;
  std::vector<MemoryRegion> regions_;
};

struct KernelParam {
  uint32_t offset = 0;  // in the parameter buffer, by the ISA's layout rules
  uint32_t bytes = 0;
  uint32_t align = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<KernelParam> params;
  uint32_t param_bytes = 0;
  uint32_t regs_per_thread = 0;  // estimate: greatest number of live 32-bit registers, 16..255
  uint32_t static_smem_bytes = 0;
  uint32_t local_bytes = 0;            // per thread
  uint32_t max_threads_per_block = 0;  // .maxntid/.reqntid product, else 1024 limited by registers
  bool uses_grid_barrier = false;      // cooperative groups grid sync was seen
};

struct GlobalInfo {
  std::string name;
  uint64_t bytes = 0;
  uint64_t align = 0;
  bool is_const = false;
  uint64_t address = 0;          // given by the loader, see Program::bind_globals
  std::vector<uint8_t> initial;  // empty: zero
  // Addresses of other globals stored in `initial` (".global .u64 p = generic(x)"): offset ->
  // index.
  std::vector<std::pair<uint64_t, uint32_t>> relocations;
};

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
  uint64_t block_count() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
};

// What executed blocks did; the timing model's only input. Adds up.
struct BlockCounters {
  uint64_t thread_instructions = 0;  // active lanes summed over issued instructions
  uint64_t warp_instructions = 0;    // issued instructions
  uint64_t fp32_warp = 0;            // issued per pipe, part of warp_instructions
  uint64_t fp64_warp = 0;
  uint64_t int_warp = 0;
  uint64_t sfu_warp = 0;     // div, sqrt, ex2, lg2, sin, cos, rcp
  uint64_t tensor_warp = 0;  // mma
  uint64_t memory_warp = 0;  // ld/st/atom to any space
  uint64_t shared_warp = 0;
  uint64_t barrier_warp = 0;
  uint64_t global_sectors_read = 0;  // distinct 32-byte sectors per warp instruction, summed
  uint64_t global_sectors_written = 0;
  uint64_t atomics = 0;
  // Distinct bytes (32-byte sectors) one block touched, an estimate of what must come from beyond
  // L1.
  uint64_t unique_bytes_read = 0;
  uint64_t unique_bytes_written = 0;
  // Length of the longest warp of the block in issued instructions: the block cannot be shorter.
  uint64_t longest_warp_instructions = 0;
  uint64_t longest_warp_global_loads = 0;  // dependent-latency estimate

  void add(const BlockCounters& other);  // sums; the longest_* fields take the maximum
};

enum class FaultKind {
  kNone,
  kIllegalAddress,
  kMisalignedAddress,
  kTrap,
  kAssert,
  kUnsupported,
  kTimeout
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::string message;  // kernel, block, thread, instruction and address: one line
};

// Values behind %clock64 and %globaltimer.
struct LaunchClock {
  uint64_t global_ns = 0;
  uint64_t clock_cycles = 0;
};

class Program {
 public:
  // Parses and pre-decodes. Errors name line and instruction ("line 12: tex.2d: not supported
  // ..."). `target_sm`: 70, 75, 80, 86, 89, 90: a PTX ".target sm_N" greater than it is refused.
  static Result<std::shared_ptr<Program>> compile(std::string_view ptx, int target_sm);
  virtual ~Program() = default;

  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual const std::vector<GlobalInfo>& globals() const = 0;

  // Gives every global its device address (same order and length as globals()); before any
  // run_block. The loader copies initial bytes and patches relocations itself, with
  // globals()[i].address.
  virtual void bind_globals(const std::vector<uint64_t>& addresses) = 0;

  // Runs block `block_linear` (x fastest) of kernels()[kernel]. `params` holds param_bytes bytes.
  // Adds to `counters`. `budget_warp_instructions` bounds a runaway block (Fault kTimeout); 0: no
  // bound.
  virtual Fault run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                          const uint8_t* params, const AddressSpace& memory,
                          const LaunchClock& clock, uint64_t budget_warp_instructions,
                          BlockCounters& counters) const = 0;
};

}  // namespace gacer::simdevice
