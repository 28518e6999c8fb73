// SPDX-License-Identifier: Apache-2.0
#include "interpose/kernel_registry.h"

#include <algorithm>
#include <cstring>

#include "interpose/capture_tracker.h"
#include "interpose/driver.h"
#include "interpose/image_hash.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kResourcesKnown = 1ULL << 63;
constexpr uint32_t kLeastGuessNs = 2'000;
constexpr uint64_t kMostGuessNs = 1'000'000'000;
constexpr uint64_t kWaveNs = 10'000;  // of a grid that fills the device once
constexpr DeviceFacts kUnknownDevice{100, 2048};

// Kernels of libraries that synchronise with other GPUs or with themselves.
constexpr const char* kCollectivePrefixes[] = {"nccl", "nvshmem"};

bool is_collective(const char* name) {
  for (const char* prefix : kCollectivePrefixes)
    if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

}  // namespace

uint32_t guess_cost_ns(const LaunchShape& shape, const DeviceFacts& device) {
  const bool known = device.sm_count != 0 && device.threads_per_sm != 0;
  const DeviceFacts& facts = known ? device : kUnknownDevice;
  const uint64_t room = uint64_t{facts.sm_count} * facts.threads_per_sm;
  // Saturate first: a launch may carry any 32-bit numbers, also ones that the driver will refuse.
  const uint64_t blocks = std::min<uint64_t>(shape.blocks(), uint64_t{1} << 40);
  const uint64_t threads = blocks * std::min<uint64_t>(shape.threads_per_block(), 1024);
  const uint64_t waves_ns = threads / room * kWaveNs + threads % room * kWaveNs / room;
  return static_cast<uint32_t>(std::clamp<uint64_t>(waves_ns, kLeastGuessNs, kMostGuessNs));
}

void KernelRegistry::learn_image(uint64_t handle, uint64_t image_hash) {
  const SpinGuard guard(lock_);
  images_.set(handle, image_hash);
}

void KernelRegistry::learn_derived_module(uint64_t library, uint64_t module) {
  const SpinGuard guard(lock_);
  if (const uint64_t* hash = images_.find(library)) images_.set(module, *hash);
}

void KernelRegistry::forget_image(uint64_t handle) {
  const SpinGuard guard(lock_);
  uint64_t hash = 0;
  images_.take(handle, hash);
  for (FunctionBucket& bucket : functions_)
    if (bucket.kernel.load(kRelaxed) != 0 &&
        bucket.owner == static_cast<uint32_t>(mix_bits(handle)))
      bucket.kernel.store(0, kRelaxed);
  outdate();
}

// Caller holds lock_. False: no room.
bool KernelRegistry::intern(uint64_t id, bool collective, uint32_t& index) {
  if (const uint64_t* known = kernel_index_.find(id)) {
    index = static_cast<uint32_t>(*known);
    return true;
  }
  if (kernel_count_ == kMaxKernels || !kernel_index_.set(id, kernel_count_)) return false;
  index = kernel_count_++;
  kernels_[index].id = id;
  kernels_[index].collective = collective;
  return true;
}

// Caller holds lock_. NULL: no room near its place, so that a failing search stays short.
KernelRegistry::FunctionBucket* KernelRegistry::bucket_for(uint64_t handle) {
  const uint64_t start = mix_bits(handle);
  FunctionBucket* reusable = nullptr;
  for (uint32_t i = 0; i < kFunctionProbes; ++i) {
    FunctionBucket& bucket = functions_[(start + i) % kFunctionBuckets];
    const uint64_t found = bucket.function.load(kRelaxed);
    if (found == handle) return &bucket;
    if (reusable == nullptr && bucket.kernel.load(kRelaxed) == 0) reusable = &bucket;
    if (found == 0) break;
  }
  return reusable;
}

// Caller holds lock_.
void KernelRegistry::bind(uint64_t handle, uint64_t owner, uint32_t kernel_index, bool of_library) {
  FunctionBucket* bucket = bucket_for(handle);
  if (bucket == nullptr) return;
  const uint32_t word = 2 * (kernel_index + 1) + (of_library ? 1 : 0);
  const bool other =
      bucket->function.load(kRelaxed) == handle && bucket->kernel.load(kRelaxed) != word;
  bucket->owner = static_cast<uint32_t>(mix_bits(owner));
  bucket->kernel.store(word, std::memory_order_release);      // pairs with find_kernel()
  bucket->function.store(handle, std::memory_order_release);  // pairs with find_kernel()
  if (other) outdate();
}

void KernelRegistry::learn(uint64_t handle, uint64_t owner, const char* name, bool of_library) {
  if (handle == 0 || name == nullptr) return;
  const SpinGuard guard(lock_);
  const uint64_t* image = images_.find(owner);
  uint32_t index = 0;
  if (intern(kernel_id_of(image != nullptr ? *image : 0, name), is_collective(name), index))
    bind(handle, owner, index, of_library);
}

void KernelRegistry::learn_function(CUfunction function, uint64_t owner, const char* name) {
  learn(reinterpret_cast<uint64_t>(function), owner, name, false);
}

void KernelRegistry::learn_library_kernel(CUkernel kernel, uint64_t owner, const char* name) {
  learn(reinterpret_cast<uint64_t>(kernel), owner, name, true);
}

void KernelRegistry::learn_alias(CUfunction function, CUkernel kernel) {
  const SpinGuard guard(lock_);
  const auto owner = reinterpret_cast<uint64_t>(kernel);
  const KernelFacts* facts = find_kernel(owner).facts;
  if (facts == nullptr || function == nullptr) return;
  bind(reinterpret_cast<uint64_t>(function), owner, static_cast<uint32_t>(facts - kernels_), false);
}

// 0: the driver does not say.
uint64_t KernelRegistry::ask_resources(const KernelHandle& kernel, uint64_t handle) {
  const RelaxedCapture relaxed;
  if (!relaxed.allows()) return 0;
  auto function = reinterpret_cast<CUfunction>(handle);
  const DriverTable& real = driver();
  if (kernel.of_library &&
      real.cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(handle)) != CUDA_SUCCESS)
    return 0;
  int regs = 0;
  int smem = 0;
  real.cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  real.cuFuncGetAttribute(&smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  const uint64_t word =
      kResourcesKnown | uint64_t{static_cast<uint16_t>(regs)} << 32 | static_cast<uint32_t>(smem);
  kernel.facts->resources.store(word, kRelaxed);
  return word;
}

uint32_t KernelRegistry::learn_shape(LaunchShape& shape, uint64_t start,
                                     const DeviceFacts& device) {
  shape.guess_ns = guess_cost_ns(shape, device);
  if (shape_count_.load(kRelaxed) == abi::kCostSlots) return kNoSlot;
  const SpinGuard guard(lock_);
  const uint32_t known = find_shape(shape, start);
  return known != kNoSlot ? known : add_shape(shape, start);
}

// Caller holds lock_.
uint32_t KernelRegistry::add_shape(const LaunchShape& shape, uint64_t start) {
  const uint32_t slot = shape_count_.load(kRelaxed);
  if (slot == abi::kCostSlots) return kNoSlot;
  shape_count_.store(slot + 1, kRelaxed);
  shapes_[slot] = shape;
  uint64_t at = start;
  while (shape_buckets_[at % kShapeBuckets].load(kRelaxed) != 0) ++at;
  // Pairs with the acquire in find_shape().
  shape_buckets_[at % kShapeBuckets].store(slot + 1, std::memory_order_release);
  return slot;
}

uint32_t KernelRegistry::slot_of_graph(uint64_t id, uint32_t guess_ns) {
  LaunchShape shape{};
  shape.guess_ns = guess_ns;
  const SpinGuard guard(lock_);
  uint32_t index = 0;
  if (!intern(id, false, index)) return kNoSlot;
  shape.kernel = &kernels_[index];
  const uint64_t start = hash_shape(shape);
  const uint32_t known = find_shape(shape, start);
  return known != kNoSlot ? known : add_shape(shape, start);
}

void KernelRegistry::reset() {
  reset_lock();
  images_.clear();
  kernel_index_.clear();
  for (FunctionBucket& bucket : functions_) {
    bucket.function.store(0, kRelaxed);
    bucket.kernel.store(0, kRelaxed);
  }
  for (std::atomic<uint32_t>& bucket : shape_buckets_) bucket.store(0, kRelaxed);
  for (; kernel_count_ > 0; --kernel_count_)
    kernels_[kernel_count_ - 1].resources.store(0, kRelaxed);
  shape_count_.store(0, kRelaxed);
}

}  // namespace gacer::interpose
