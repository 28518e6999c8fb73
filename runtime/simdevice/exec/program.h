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
#include <functional>
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
  bool uses_heap = false;              // malloc or free may be called
  bool prints = false;                 // printf may be called
  // .reqnctapercluster; 0: not given.
  std::array<uint32_t, 3> cluster{0, 0, 0};
};

struct GlobalInfo {
  std::string name;
  uint64_t bytes = 0;
  uint64_t align = 0;
  bool is_const = false;
  bool is_managed = false;       // .attribute(.managed): its bytes are also the host's
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
  std::array<uint32_t, 3> cluster{1, 1, 1};  // divides the grid in each dimension
  uint64_t blocks_per_cluster() const { return uint64_t{cluster[0]} * cluster[1] * cluster[2]; }
  uint64_t block_count() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
};

// Classes of operations by how long their result takes. How many clocks that is depends on the
// device and is not known here.
enum class Latency : uint8_t {
  kNone,  // renamings that no machine instruction stands for
  kAlu,   // fp32, int, predicates
  kFp64,
  kSfu,
  kShared,  // loads from shared memory, shuffles
  kGlobal,  // loads from global memory
  kAtomic,  // with a result
  kTensor,
  kCount
};
inline constexpr size_t kLatencyCount = static_cast<size_t>(Latency::kCount);

// Sectors that a block touched again, by how much its warps had touched since: `distance` is the
// sum over `sectors` of that distance in 32-byte sectors, taken from the touching warps' own
// progress and multiplied by the number of warps, as if all went on side by side.
struct ReuseBucket {
  uint64_t read_sectors = 0;
  uint64_t written_sectors = 0;
  uint64_t distance = 0;

  void add(const ReuseBucket& other) {
    read_sectors += other.read_sectors;
    written_sectors += other.written_sectors;
    distance += other.distance;
  }
};
inline constexpr size_t kReuseBuckets = 24;  // distances up to 2^n KiB

// What executed blocks did; the timing model's only input. Adds up.
struct BlockCounters {
  uint64_t thread_instructions = 0;  // active lanes summed over issued instructions
  uint64_t warp_instructions = 0;    // issued instructions
  uint64_t fp32_warp = 0;            // issued per pipe, part of warp_instructions
  uint64_t fp64_warp = 0;
  uint64_t int_warp = 0;
  uint64_t sfu_warp = 0;     // div, sqrt, ex2, lg2, sin, cos, rcp
  uint64_t tensor_warp = 0;  // in units of an mma.m16n8k16 of halves
  uint64_t memory_warp = 0;  // ld/st/atom to any space
  uint64_t shared_warp = 0;
  uint64_t shared_beats = 0;  // 128 bytes of shared memory each; bank conflicts are not seen
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
  // Operations by class that follow one another in a warp, summed over all warps, in sixteenths.
  // All zero: not known, e.g. counters made by hand.
  std::array<uint64_t, kLatencyCount> chain{};
  uint64_t warps = 0;
  std::array<ReuseBucket, kReuseBuckets> reuse{};
  uint64_t longest_warp_sleep_ns = 0;  // nanosleep, and waits for a time in loops on a clock

  void add(const BlockCounters& other);  // sums; the longest_* fields take the maximum
};

enum class FaultKind {
  kNone,
  kIllegalAddress,
  kMisalignedAddress,
  kTrap,
  kAssert,
  kUnsupported,
  kTimeout,
  kInvalidPc,      // a call of what is no function
  kStackOverflow,  // calls nested too deep
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::string message;  // kernel, block, thread, instruction and address: one line
};

// Values behind %clock64 and %globaltimer.
struct LaunchClock {
  uint64_t global_ns = 0;
  uint64_t clock_cycles = 0;
  uint32_t clock_mhz = 1000;
};

class DeviceHeap;
class TextureTable;

// What a launch is, beyond its kernel.
struct GridLaunch {
  uint32_t kernel = 0;
  LaunchShape shape;
  const uint8_t* params = nullptr;  // param_bytes bytes
  const AddressSpace* memory = nullptr;
  const TextureTable* textures = nullptr;  // texture/texture_table.h; nullptr: none
  LaunchClock clock;
  // Warp instructions of one block, or of all blocks that wait for others, after which the launch
  // counts as hung (kTimeout); 0: no bound.
  uint64_t budget_warp_instructions = 0;
  // That many blocks make progress although some of them wait for others.
  uint64_t resident_blocks = 1;
  bool cooperative = false;  // the kernel may synchronise the whole grid
  uint32_t sm_count = 1;
  uint64_t grid_id = 0;
  DeviceHeap* heap = nullptr;  // of malloc and free; nullptr: every malloc fails
  // Takes what printf prints; called from all threads that run blocks. Empty: stderr.
  std::function<void(std::string_view)> print;
  std::vector<uint64_t> sample;  // only these blocks (and those of their clusters); empty: all
};

// The blocks of one launch, run by as many threads as call work(). A block that waits for another
// one is put aside and goes on later; the order of blocks is that of their numbers.
class GridRun {
 public:
  virtual ~GridRun() = default;
  // Returns when this thread has nothing left to do, or when `stop` said so once (asked between
  // blocks; may be empty). The launch is over when all threads have returned.
  virtual void work(const std::function<bool()>& stop) = 0;
  // After that: the first fault by block number, what the blocks did, and how many ran to an end.
  virtual const Fault& fault() const = 0;
  virtual const BlockCounters& counters() const = 0;
  virtual uint64_t blocks_run() const = 0;
};

class Program {
 public:
  // Parses and pre-decodes. Errors name line and instruction ("line 12: tex.2d: not supported
  // ..."). `target_sm`: 70, 75, 80, 86, 89, 90: a PTX ".target sm_N" greater than it is refused.
  static Result<std::shared_ptr<Program>> compile(std::string_view ptx, int target_sm);
  virtual ~Program() = default;

  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual const std::vector<GlobalInfo>& globals() const = 0;
  // Lowers the estimates of registers that are above `most` (at least 16); before any run_block.
  virtual void limit_registers(uint32_t most) = 0;
  // Of an image without PTX: run_block() computes nothing and counts nothing.
  virtual bool is_machine_code() const { return false; }

  // Gives every global its device address (same order and length as globals()); before any
  // run_block. The loader copies initial bytes and patches relocations itself, with
  // globals()[i].address.
  virtual void bind_globals(const std::vector<uint64_t>& addresses) = 0;

  // Runs block `block_linear` (x fastest) of kernels()[kernel], by itself: no other block goes on
  // while it waits. `params` holds param_bytes bytes.
  // Adds to `counters`. `budget_warp_instructions` bounds a runaway block (Fault kTimeout); 0: no
  // bound.
  virtual Fault run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                          const uint8_t* params, const AddressSpace& memory,
                          const LaunchClock& clock, uint64_t budget_warp_instructions,
                          BlockCounters& counters) const = 0;

  // All blocks of a launch, see GridRun. What `launch` points to must outlive the result.
  virtual std::unique_ptr<GridRun> start_grid(const GridLaunch& launch) const = 0;
};

}  // namespace gacer::simdevice
