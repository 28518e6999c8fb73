// SPDX-License-Identifier: Apache-2.0
// What is known of the kernels that a program launches: identity, resources, and per launch shape
// (kernel, grid, block, dynamic shared memory) a cost slot with a first guess of its cost.
//
// Kernels and shapes are kept until the process ends, so that a module loaded again finds its slots
// again; only the handles are forgotten with their module. Lookups on the launch path are
// lock-free; learning locks. Tables are of fixed size: what does not fit is launched with a guess
// and without a cost slot.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"
#include "runtime/abi/segment_layout.h"

namespace gacer::interpose {

struct DeviceFacts {
  uint32_t sm_count = 0;
  uint32_t threads_per_sm = 0;
};

struct KernelResources {
  uint16_t regs_per_thread = 0;
  uint32_t static_smem_bytes = 0;
};

struct KernelFacts {
  uint64_t id = 0;
  bool collective = false;  // waits for kernels of other processes or blocks: never held
  // Read from the driver at the first launch: asking earlier could load a kernel that is never
  // launched. Bit 63: known; then registers in bits 32.., static shared memory in bits 0..31.
  mutable std::atomic<uint64_t> resources{0};
};

// What a handle given to a launch stands for. `facts` NULL: never seen.
struct KernelHandle {
  const KernelFacts* facts = nullptr;
  bool of_library = false;  // a CUkernel, not a CUfunction
};

// Without initialisers here, in StreamRef and in LaunchRequest: on the launch path every member is
// set, and compilers clear such an object with a slow string instruction first. Elsewhere write
// `LaunchShape shape{}`.
struct LaunchShape {
  const KernelFacts* kernel;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_smem_bytes;
  uint32_t guess_ns;
  bool same_launch(const LaunchShape& other) const;
  uint64_t blocks() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint64_t threads_per_block() const { return uint64_t{block[0]} * block[1] * block[2]; }
};

// First guess of a launch's cost in whole-GPU ns, 2000 at least, from its threads and the device's.
uint32_t guess_cost_ns(const LaunchShape& shape, const DeviceFacts& device);

class KernelRegistry {
 public:
  static constexpr uint32_t kMaxKernels = 4096;
  static constexpr uint32_t kNoSlot = abi::kNoCostSlot;

  // Of modules and libraries, by handle.
  void learn_image(uint64_t handle, uint64_t image_hash);
  void learn_derived_module(uint64_t library, uint64_t module);
  void forget_image(uint64_t handle);

  // `owner` is the module or library that the handle was got from.
  void learn_function(CUfunction function, uint64_t owner, const char* name);
  void learn_library_kernel(CUkernel kernel, uint64_t owner, const char* name);
  // A CUfunction got from a CUkernel: the same kernel.
  void learn_alias(CUfunction function, CUkernel kernel);

  KernelHandle find_kernel(uint64_t handle) const;
  // Precondition: kernel.facts != NULL; handle is the one it was found by. Asks the driver once per
  // kernel.
  static KernelResources resources_of(const KernelHandle& kernel, uint64_t handle) {
    uint64_t word = kernel.facts->resources.load(std::memory_order_relaxed);
    if (word == 0) word = ask_resources(kernel, handle);
    return {static_cast<uint16_t>(word >> 32), static_cast<uint32_t>(word)};
  }

  // Index of the shape, which is its cost slot; its guess is filled in on the first call. kNoSlot:
  // table full.
  uint32_t find_or_add_shape(LaunchShape& shape, const DeviceFacts& device);
  // Of a shape that has been launched before, else kNoSlot.
  uint32_t find_shape(const LaunchShape& shape) const;
  // The cost slot of a whole graph; `id` in place of a kernel's.
  uint32_t slot_of_graph(uint64_t id, uint32_t guess_ns);

  // Changes whenever a handle may stand for something else than before.
  uint32_t generation() const {
    return generation_.load(std::memory_order_acquire);  // pairs with outdate()
  }

  // In a fork child, before any other thread exists.
  void reset_lock() {
    lock_.unlock();
    outdate();
  }

  // For tests: knows nothing, as at program start. No other thread may use it.
  void reset();

 private:
  static constexpr uint32_t kFunctionBuckets = 16384;
  static constexpr uint32_t kFunctionProbes = 64;
  static constexpr uint32_t kShapeBuckets = 8192;
  struct FunctionBucket {
    std::atomic<uint64_t> function{0};
    std::atomic<uint32_t> kernel{0};  // 2 * (index + 1) + of_library; 0: forgotten
    uint32_t owner = 0;               // low bits of the owner's handle; guarded by lock_
  };

  // After the change, with release: who sees the new number finds the new state.
  void outdate() { generation_.fetch_add(1, std::memory_order_release); }
  static uint64_t ask_resources(const KernelHandle& kernel, uint64_t handle);
  void learn(uint64_t handle, uint64_t owner, const char* name, bool of_library);
  bool intern(uint64_t id, bool collective, uint32_t& index);
  void bind(uint64_t handle, uint64_t owner, uint32_t kernel_index, bool of_library);
  uint32_t find_shape(const LaunchShape& shape, uint64_t start) const;
  uint32_t learn_shape(LaunchShape& shape, uint64_t start, const DeviceFacts& device);
  uint32_t add_shape(const LaunchShape& shape, uint64_t start);
  FunctionBucket* bucket_for(uint64_t handle);

  SpinLock lock_;
  FlatMap images_;        // module or library -> hash
  FlatMap kernel_index_;  // kernel id -> index
  uint32_t kernel_count_ = 0;
  std::atomic<uint32_t> shape_count_{0};  // written under lock_
  std::atomic<uint32_t> generation_{0};
  FunctionBucket functions_[kFunctionBuckets];
  std::atomic<uint32_t> shape_buckets_[kShapeBuckets] = {};  // index + 1
  KernelFacts kernels_[kMaxKernels];
  LaunchShape shapes_[abi::kCostSlots] = {};
};

// Inline: on the path of every regulated launch.

// Word by word: see describe_shape() in entry_launch.cpp.
inline bool LaunchShape::same_launch(const LaunchShape& other) const {
  return kernel == other.kernel && grid[0] == other.grid[0] && grid[1] == other.grid[1] &&
         grid[2] == other.grid[2] && block[0] == other.block[0] && block[1] == other.block[1] &&
         block[2] == other.block[2] && dynamic_smem_bytes == other.dynamic_smem_bytes;
}

inline uint64_t hash_shape(const LaunchShape& shape) {
  uint64_t hash = reinterpret_cast<uint64_t>(shape.kernel);
  hash ^= (uint64_t{shape.grid[0]} << 32 | shape.block[0]) * 0x9e3779b97f4a7c15ULL;
  hash ^= (uint64_t{shape.grid[1]} << 32 | shape.grid[2]) * 0xc2b2ae3d27d4eb4fULL;
  hash ^= (uint64_t{shape.block[1]} << 32 | shape.block[2]) * 0x165667b19e3779f9ULL;
  return mix_bits(hash ^ shape.dynamic_smem_bytes);
}

inline KernelHandle KernelRegistry::find_kernel(uint64_t handle) const {
  const uint64_t start = mix_bits(handle);
  for (uint32_t i = 0; i < kFunctionProbes; ++i) {
    const FunctionBucket& bucket = functions_[(start + i) % kFunctionBuckets];
    const uint64_t found = bucket.function.load(std::memory_order_acquire);  // pairs with bind()
    if (found == 0) return {};
    if (found != handle) continue;
    const uint32_t word = bucket.kernel.load(std::memory_order_acquire);  // pairs with bind()
    return word == 0 ? KernelHandle{} : KernelHandle{&kernels_[word / 2 - 1], word % 2 != 0};
  }
  return {};
}

inline uint32_t KernelRegistry::find_shape(const LaunchShape& shape, uint64_t start) const {
  for (uint32_t i = 0; i < kShapeBuckets; ++i) {
    // Pairs with the release in find_or_add_shape().
    const uint32_t entry =
        shape_buckets_[(start + i) % kShapeBuckets].load(std::memory_order_acquire);
    if (entry == 0) return kNoSlot;
    if (shapes_[entry - 1].same_launch(shape)) return entry - 1;
  }
  return kNoSlot;
}

inline uint32_t KernelRegistry::find_shape(const LaunchShape& shape) const {
  return find_shape(shape, hash_shape(shape));
}

inline uint32_t KernelRegistry::find_or_add_shape(LaunchShape& shape, const DeviceFacts& device) {
  const uint64_t start = hash_shape(shape);
  const uint32_t known = find_shape(shape, start);
  if (known == kNoSlot) return learn_shape(shape, start, device);
  shape.guess_ns = shapes_[known].guess_ns;
  return known;
}

}  // namespace gacer::interpose
