// SPDX-License-Identifier: Apache-2.0
// Any kind of pointer given to any kind of free: the driver's own answer, and an account that is
// what the driver has.
#include <functional>

#include "interpose/driver.h"
#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

// Either through the shim or straight to the driver.
struct Face {
  decltype(&gacer_hook_cuMemAlloc_v2) alloc;
  decltype(&gacer_hook_cuMemAllocManaged) managed;
  decltype(&gacer_hook_cuMemAllocPitch_v2) pitch;
  decltype(&gacer_hook_cuMemAllocAsync) async;
  decltype(&gacer_hook_cuMemAllocFromPoolAsync) from_pool;
  decltype(&gacer_hook_cuMemPoolCreate) pool;
  decltype(&gacer_hook_cuMemFree_v2) free;
  decltype(&gacer_hook_cuMemFreeAsync) free_async;
};

Face shimmed() {
  return {
      gacer_hook_cuMemAlloc_v2,   gacer_hook_cuMemAllocManaged,       gacer_hook_cuMemAllocPitch_v2,
      gacer_hook_cuMemAllocAsync, gacer_hook_cuMemAllocFromPoolAsync, gacer_hook_cuMemPoolCreate,
      gacer_hook_cuMemFree_v2,    gacer_hook_cuMemFreeAsync};
}
Face bare() {
  const DriverTable& real = driver();
  return {real.cuMemAlloc_v2,   real.cuMemAllocManaged,       real.cuMemAllocPitch_v2,
          real.cuMemAllocAsync, real.cuMemAllocFromPoolAsync, real.cuMemPoolCreate,
          real.cuMemFree_v2,    real.cuMemFreeAsync};
}

enum class Way { kFree, kFreeAsync, kTwice, kGarbage };
constexpr int kSources = 7;

CUdeviceptr make(const Face& face, int source) {
  CUdeviceptr pointer = 0;
  const CUstream stream = test::stream_number(1);
  size_t pitch = 0;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  switch (source) {
    case 0:
      face.alloc(&pointer, kMiB);
      break;
    case 1:
      face.async(&pointer, kMiB, stream);
      break;
    case 2:
      face.pool(&pool, &properties);
      face.from_pool(&pointer, kMiB, pool, stream);
      break;
    case 3:
      face.managed(&pointer, kMiB, 1);
      break;
    case 4:
      face.pitch(&pointer, &pitch, 100, 100, 4);
      break;
    case 5:
      pointer = test::external_mapping();
      fake_memory().allocations[pointer].kind = test::FakeMemory::Kind::kGraph;
      break;
    default:
      pointer = test::external_mapping();
  }
  EXPECT_NE(pointer, 0u);
  return pointer;
}

std::vector<CUresult> end(const Face& face, CUdeviceptr pointer, Way way) {
  const CUstream stream = test::stream_number(2);
  switch (way) {
    case Way::kFree:
      return {face.free(pointer)};
    case Way::kFreeAsync:
      return {face.free_async(pointer, stream)};
    case Way::kTwice:
      return {face.free(pointer), face.free(pointer)};
    default:
      return {face.free(pointer + 12345), face.free_async(pointer + 12345, stream)};
  }
}

class MemoryFreeMatrix : public test::MemoryFixture {};

TEST_F(MemoryFreeMatrix, MEM_09_every_free_gets_the_drivers_answer) {
  for (int source = 0; source < kSources; ++source) {
    for (const Way way : {Way::kFree, Way::kFreeAsync, Way::kTwice, Way::kGarbage}) {
      test::reset_shim_with_memory();
      const std::vector<CUresult> expected = end(bare(), make(bare(), source), way);
      test::reset_shim_with_memory();
      attachment_ = &test::attach_fake();
      limit(64 * kMiB);
      EXPECT_EQ(end(shimmed(), make(shimmed(), source), way), expected)
          << "source " << source << " way " << static_cast<int>(way);
      test::shrink_pools();
      shim().pools.synchronised();
      expect_exact();
    }
  }
}

TEST_F(MemoryFreeMatrix, MEM_09_what_was_allocated_before_the_shim_is_freed_too) {
  const CUdeviceptr pointer = make(bare(), 0);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(pointer), CUDA_SUCCESS);
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(charged(), 0u);
}

}  // namespace
}  // namespace gacer::interpose
